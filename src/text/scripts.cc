#include <algorithm>
#include <iterator>

#include "text/unicode.h"

namespace jumok {
namespace {

struct Range {
  char32_t first, last;
  Script script;
};

// Scripts.txt of Unicode 14, coarsened: only letters are looked up, so ranges may run over gaps and over what is no letter.
constexpr Range kRanges[] = {
    {0x41, 0xAA, Script::kLatin},          {0xB5, 0xB5, Script::kCommon},         {0xBA, 0x2B8, Script::kLatin},
    {0x2B9, 0x2DF, Script::kCommon},       {0x2E0, 0x2E4, Script::kLatin},        {0x2EC, 0x2EE, Script::kCommon},
    {0x370, 0x373, Script::kGreek},        {0x374, 0x374, Script::kCommon},       {0x376, 0x3E1, Script::kGreek},
    {0x3F0, 0x3FF, Script::kGreek},        {0x400, 0x52F, Script::kCyrillic},     {0x591, 0x5F4, Script::kHebrew},
    {0x620, 0x63F, Script::kArabic},       {0x640, 0x640, Script::kCommon},       {0x641, 0x6FF, Script::kArabic},
    {0x750, 0x77F, Script::kArabic},       {0x870, 0x8FF, Script::kArabic},       {0x1100, 0x11FF, Script::kHangul},
    {0x1C80, 0x1C88, Script::kCyrillic},   {0x1D00, 0x1D25, Script::kLatin},      {0x1D26, 0x1D2A, Script::kGreek},
    {0x1D2B, 0x1D2B, Script::kCyrillic},   {0x1D2C, 0x1D5C, Script::kLatin},      {0x1D5D, 0x1D61, Script::kGreek},
    {0x1D62, 0x1D65, Script::kLatin},      {0x1D66, 0x1D6A, Script::kGreek},      {0x1D6B, 0x1D77, Script::kLatin},
    {0x1D78, 0x1D78, Script::kCyrillic},   {0x1D79, 0x1DBE, Script::kLatin},      {0x1DBF, 0x1DBF, Script::kGreek},
    {0x1E00, 0x1EFF, Script::kLatin},      {0x1F00, 0x1FFE, Script::kGreek},      {0x2071, 0x209C, Script::kLatin},
    {0x2102, 0x2124, Script::kCommon},     {0x2126, 0x2126, Script::kGreek},      {0x2128, 0x2128, Script::kCommon},
    {0x212A, 0x212B, Script::kLatin},      {0x212C, 0x2131, Script::kCommon},     {0x2132, 0x2132, Script::kLatin},
    {0x2133, 0x2149, Script::kCommon},     {0x214E, 0x2188, Script::kLatin},      {0x2C60, 0x2C7F, Script::kLatin},
    {0x2E2F, 0x2E2F, Script::kCommon},     {0x3005, 0x3005, Script::kHan},        {0x3006, 0x3006, Script::kCommon},
    {0x3031, 0x3035, Script::kCommon},     {0x303B, 0x303B, Script::kHan},        {0x303C, 0x303C, Script::kCommon},
    {0x3041, 0x309F, Script::kHiragana},   {0x30A1, 0x30FA, Script::kKatakana},   {0x30FC, 0x30FC, Script::kCommon},
    {0x30FD, 0x30FF, Script::kKatakana},   {0x3131, 0x318E, Script::kHangul},     {0x31F0, 0x31FF, Script::kKatakana},
    {0x3400, 0x4DBF, Script::kHan},        {0x4E00, 0x9FFF, Script::kHan},        {0xA640, 0xA69F, Script::kCyrillic},
    {0xA717, 0xA71F, Script::kCommon},     {0xA722, 0xA787, Script::kLatin},      {0xA788, 0xA788, Script::kCommon},
    {0xA78B, 0xA7FF, Script::kLatin},      {0xA960, 0xA97C, Script::kHangul},     {0xA9CF, 0xA9CF, Script::kCommon},
    {0xAB30, 0xAB64, Script::kLatin},      {0xAB65, 0xAB65, Script::kGreek},      {0xAB66, 0xAB69, Script::kLatin},
    {0xAC00, 0xD7FB, Script::kHangul},     {0xF900, 0xFAD9, Script::kHan},        {0xFB00, 0xFB06, Script::kLatin},
    {0xFB1D, 0xFB4F, Script::kHebrew},     {0xFB50, 0xFDFF, Script::kArabic},     {0xFE70, 0xFEFC, Script::kArabic},
    {0xFF21, 0xFF5A, Script::kLatin},      {0xFF66, 0xFF6F, Script::kKatakana},   {0xFF70, 0xFF70, Script::kCommon},
    {0xFF71, 0xFF9D, Script::kKatakana},   {0xFF9E, 0xFF9F, Script::kCommon},     {0xFFA0, 0xFFDC, Script::kHangul},
    {0x10780, 0x107BA, Script::kLatin},    {0x16FE3, 0x16FE3, Script::kHan},      {0x1AFF0, 0x1B000, Script::kKatakana},
    {0x1B001, 0x1B11F, Script::kHiragana}, {0x1B120, 0x1B122, Script::kKatakana}, {0x1B150, 0x1B152, Script::kHiragana},
    {0x1B164, 0x1B167, Script::kKatakana}, {0x1D400, 0x1D7CB, Script::kCommon},   {0x1DF00, 0x1DF1E, Script::kLatin},
    {0x1EE00, 0x1EEFF, Script::kArabic},   {0x20000, 0x323AF, Script::kHan},
};

}  // namespace

Script script_of(char32_t c) {
  if (!is_letter(c)) return Script::kCommon;
  const auto* range = std::upper_bound(std::begin(kRanges), std::end(kRanges), c, [](char32_t x, const Range& r) { return x < r.first; });
  if (range == std::begin(kRanges)) return Script::kOther;
  --range;
  return c <= range->last ? range->script : Script::kOther;
}

}  // namespace jumok
