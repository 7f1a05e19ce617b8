#include "report/page_style.h"

namespace jumok {

std::string_view page_style() {
  return R"css(
:root{--ink:#1a2433;--soft:#5b6675;--line:#dfe5ec;--ground:#fff;--page:#f4f6f9;--accent:#c44e00;--link:#0b62a4;--shade:#1a243340;color-scheme:light dark}
@media screen and (prefers-color-scheme:dark){
:root{--ink:#e6ebf2;--soft:#98a4b5;--line:#2a3442;--ground:#12171f;--page:#0b0f15;--accent:#ff9b5c;--link:#6db6f2;--shade:#000c}}
*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK KR",
"Apple SD Gothic Neo","Malgun Gothic",NanumGothic,sans-serif;text-rendering:optimizeLegibility}
main{max-width:72rem;margin:0 auto;padding:clamp(1.25rem,4vw,3.5rem) clamp(1rem,4vw,3rem)}
h1{font-size:clamp(1.7rem,4vw,2.4rem);line-height:1.2;letter-spacing:-.02em;font-weight:680;margin:0 0 1.75rem;text-wrap:balance}
h2{font-size:1.35rem;line-height:1.3;letter-spacing:-.01em;font-weight:650;margin:2.75rem 0 .75rem}
h3{font-size:1.05rem;line-height:1.4;font-weight:650;margin:1.75rem 0 .5rem}
h1,h2,h3,p,td,th,dd,figcaption{unicode-bidi:plaintext;overflow-wrap:break-word}
p{max-width:44rem;margin:.6rem 0}
pre{background:var(--ground);border:1px solid var(--line);border-radius:.5rem;padding:.8rem 1rem;overflow-x:auto;
font:14px/1.55 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
figure{margin:1.25rem 0;background:var(--ground);border:1px solid var(--line);border-radius:.75rem;padding:.75rem;max-width:100%}
.scroll{overflow-x:auto;max-width:100%}
.scroll:has(table){background:linear-gradient(90deg,var(--ground) 30%,transparent) left/3rem 100% no-repeat local,
linear-gradient(270deg,var(--ground) 30%,transparent) right/3rem 100% no-repeat local,
linear-gradient(90deg,var(--shade),transparent) left/1rem 100% no-repeat scroll,
linear-gradient(270deg,var(--shade),transparent) right/1rem 100% no-repeat scroll}
.scroll table{background:none}figure svg{display:block}
figure svg.curves{width:100%;max-width:58rem;height:auto}@media screen{figure svg.curves{min-width:36rem}}
.gallery{display:flex;flex-wrap:wrap;gap:.75rem;align-items:stretch;margin:1.25rem 0}
.gallery figure{margin:0;max-width:calc(50% - .375rem);min-width:min(100%,22rem)}.gallery svg{max-width:100%;height:auto}
figcaption{color:var(--soft);font-size:.9rem;text-align:start;padding:.4rem .25rem .1rem;max-width:44rem}
table{border-collapse:collapse;font-size:.95rem;line-height:1.45;background:var(--ground);min-width:20rem}
th,td{padding:.4rem .9rem;text-align:start;vertical-align:top;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft);font-size:.86rem;border-bottom:2px solid var(--line);white-space:nowrap}tbody tr:last-child td{border-bottom:0}
table.wide th{white-space:normal;vertical-align:bottom}table.wide th,table.wide td{padding:.4rem .55rem}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums;unicode-bidi:isolate}td.number{white-space:nowrap}
dl.texts{display:grid;grid-template-columns:max-content minmax(0,44rem);gap:.3rem 1.1rem;margin:.75rem 0 1rem}
dl.texts dt{color:var(--soft);font-size:.86rem;line-height:1.86}
dl.texts dd{margin:0;text-align:start}
dl.texts dd.output{font-weight:600}
@media (max-width:36rem){dl.texts{grid-template-columns:1fr;gap:0}dl.texts dd{margin-bottom:.5rem}}
.now{display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;align-items:baseline;padding:.1rem .25rem .5rem;min-height:2.2rem;font-size:.95rem}
.now b{font-weight:650}.now output{color:var(--soft);font-variant-numeric:tabular-nums}
.look{display:flex;flex-wrap:wrap;gap:.5rem 2.5rem;align-items:flex-start}
.look>*{min-width:0;max-width:100%}
.look>.heads{flex:0 1 auto}
.heads{display:grid;gap:.3rem;margin:.5rem 0 0;align-items:center;justify-content:start;overflow-x:auto;padding:3px}
.heads button{appearance:none;border:1px solid var(--line);border-radius:.4rem;background:var(--ground);color:var(--soft);padding:3px;cursor:pointer;
font:inherit;font-size:.75rem;line-height:1.3;display:flex;flex-direction:column;align-items:center;gap:2px}
.heads button:hover{border-color:var(--soft)}
.heads button[aria-pressed=true]{border-color:var(--accent);box-shadow:0 0 0 1px var(--accent);color:var(--accent);font-weight:600}
.heads button:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.heads small{font-size:.68rem;font-weight:400;font-variant-numeric:tabular-nums}
.heads canvas{display:block;image-rendering:pixelated;border-radius:2px}
.heads .layer{align-self:stretch;justify-content:center;padding:4px 10px;white-space:nowrap}
footer{margin-top:3.5rem;color:var(--soft);font-size:.85rem}
@media print{
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{background:#fff;font-size:11pt}main{max-width:none;padding:0}
figure{border-color:#ccc;break-inside:avoid}h2,h3{break-after:avoid}section{break-inside:auto}
.scroll{overflow:visible}figure svg{max-width:100%;height:auto}
.heads{overflow:visible;break-inside:avoid}.heads button{border-color:#ccc}}
)css";
}

}  // namespace jumok
