#include "report/attention_script.h"

namespace jumok {

// Expects jumokRamps = {light: 64 colours, dark: 64 colours}; the shade is weight^0.7 as in svg.h. Without scripts the page still shows the
// mean map with its tooltips.
std::string_view attention_script() {
  return R"js('use strict';
(() => {
const darkScreen = matchMedia('(prefers-color-scheme: dark)');
const unpack = text => {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return Float32Array.from({length: bytes.length / 2}, (_, i) => {
    const step = bytes[2 * i] + 256 * bytes[2 * i + 1];
    return step === 65535 ? NaN : step / 65534;
  });
};
const mean = maps => maps[0].map((_, i) => maps.reduce((sum, map) => sum + map[i], 0) / maps.length);
const shade = weight => Number.isNaN(weight) ? -1 : Math.round(weight ** 0.7 * 63);

const paint = (canvas, map, ramp) => {
  if (!map.length) return;
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, canvas.height);
  map.forEach((weight, i) => {
    const colour = parseInt((ramp[shade(weight)] || '#888888').slice(1), 16);
    image.data.set([colour >> 16, colour >> 8 & 255, colour & 255, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
};

document.querySelectorAll('section.attention').forEach(section => {
  const data = JSON.parse(section.querySelector('script').textContent);
  const maps = data.maps.map(unpack);
  const buttons = [...section.querySelectorAll('.heads button')];
  const cells = [...section.querySelectorAll('.cells rect')];
  const name = section.querySelector('.now b'), told = section.querySelector('.now output');
  const rows = section.querySelectorAll('.rows text'), columns = section.querySelectorAll('.columns text');
  const width = data.columns.length;
  let shown = mean(maps);
  let rest = told.textContent;

  const say = i => {
    const weight = Number.isNaN(shown[i]) ? 'NaN' : shown[i].toFixed(4);
    return '\u2068' + data.rows[Math.floor(i / width)] + '\u2069 ← \u2068' + data.columns[i % width] + '\u2069: ' + weight;
  };
  const mapOf = button => {
    const layer = +button.dataset.layer, head = +button.dataset.head;
    if (layer < 0) return mean(maps);
    if (head < 0) return mean(maps.slice(layer * data.heads, (layer + 1) * data.heads));
    return maps[layer * data.heads + head];
  };
  const show = button => {
    shown = mapOf(button);
    name.textContent = button.dataset.name;
    rest = told.textContent = button.dataset.told;
    buttons.forEach(b => b.setAttribute('aria-pressed', b === button));
    cells.forEach((cell, i) => {
      const step = shade(shown[i]);
      cell.setAttribute('class', step < 0 ? 'c nan' : 'c w' + step);
      cell.firstChild.textContent = say(i);
    });
  };
  buttons.forEach((button, at) => {
    button.title = button.dataset.name;
    button.addEventListener('click', () => show(button));
    button.addEventListener('keydown', event => {
      const next = {ArrowRight: at + 1, ArrowLeft: at - 1}[event.key];
      if (buttons[next]) { buttons[next].focus(); show(buttons[next]); event.preventDefault(); }
    });
  });

  const mark = (i, on) => {
    rows[Math.floor(i / width)].classList.toggle('on', on);
    columns[i % width].classList.toggle('on', on);
  };
  let under = -1;
  const leave = () => { if (under >= 0) mark(under, false); under = -1; told.textContent = rest; };
  const field = section.querySelector('.cells');
  field.addEventListener('pointerover', event => {
    leave();
    under = cells.indexOf(event.target.closest('rect'));
    if (under >= 0) { mark(under, true); told.textContent = say(under); }
  });
  field.addEventListener('pointerleave', leave);

  const paintAll = dark => buttons.forEach(button => {
    const canvas = button.querySelector('canvas');
    if (canvas) paint(canvas, mapOf(button), dark ? jumokRamps.dark : jumokRamps.light);
  });
  paintAll(darkScreen.matches);
  darkScreen.addEventListener('change', () => paintAll(darkScreen.matches));
  addEventListener('beforeprint', () => paintAll(false));
  addEventListener('afterprint', () => paintAll(darkScreen.matches));
});
})();
)js";
}

}  // namespace jumok
