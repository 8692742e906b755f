const span = 300;
const svgSpace = 'http://www.w3.org/2000/svg';
function s(tag, attributes, text) {
  const element = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// The smallest round number that is at least a value.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 6, 8, 10].map((n) => n * power).find((n) => n >= value * 0.999);
}

// A chart in an element; `lines` are named, and each point is { at, values }.
function chart(id, names, format) {
  const svg = s('svg', { role: 'img', 'aria-label': names.join(', ') + ' over at most five minutes' });
  const values = names.map(() => h('b', {}, '–'));
  const keys = names.map((name, index) => h('span', {}, h('i', { class: 'c' + index }), name, ' ', values[index]));
  const when = h('span', {}, '');
  $(id).append(h('div', { class: 'legend' }, keys, when), svg);
  let points = [];
  let pointed = null;
  function draw() {
    const box = svg.getBoundingClientRect();
    const [left, bottom, top] = [52, 20, 6];
    const width = Math.max(10, box.width - left);
    const height = Math.max(10, box.height - bottom - top);
    const end = points.length ? points[points.length - 1].at : 0;
    const highest = Math.max(0, ...points.flatMap((p) => p.values.map((v) => v || 0)));
    const most = highest > 0 ? roundUp(highest) : 1;
    // What it covers grows with the points.
    const covered = [30, 60, 120, span].find((seconds) => !points.length || seconds >= end - points[0].at) || span;
    const x = (at) => left + width * (1 - (end - at) / covered);
    const y = (value) => top + height * (1 - value / most);
    const parts = [0, 0.5, 1].flatMap((share) => [
      s('line', { class: 'grid', x1: left, x2: left + width, y1: y(share * most), y2: y(share * most) }),
      s('text', { x: left - 8, y: y(share * most) + 4, 'text-anchor': 'end' }, format(share * most)),
    ]);
    parts.push(s('text', { x: left, y: box.height - 3 }, time(covered) + ' ago'));
    parts.push(s('text', { x: left + width, y: box.height - 3, 'text-anchor': 'end' }, 'now'));
    names.forEach((_, index) => {
      let line = '';
      let first = null;
      let last = null;
      for (const point of points) {
        const value = point.values[index];
        if (value === null) { last = null; continue; }
        const place = x(point.at).toFixed(1) + ' ' + y(value).toFixed(1);
        line += (last === null ? 'M' : 'L') + place;
        if (first === null) first = point.at;
        last = point.at;
      }
      if (!line) return;
      if (index === 0 && !points.some((p) => p.values[0] === null)) {
        const area = line + 'L' + x(last).toFixed(1) + ' ' + y(0) + 'L' + x(first).toFixed(1) + ' ' + y(0) + 'Z';
        parts.push(s('path', { class: 'area c0', d: area }));
      }
      parts.push(s('path', { class: 'c' + index, d: line }));
    });
    let read = points[points.length - 1];
    if (pointed !== null && points.length) {
      const at = end - covered * (1 - (pointed - left) / width);
      read = points.reduce((best, p) => Math.abs(p.at - at) < Math.abs(best.at - at) ? p : best);
      parts.push(s('line', { class: 'cursor', x1: x(read.at), x2: x(read.at), y1: top, y2: top + height }));
    }
    when.textContent = read && pointed !== null ? time(end - read.at) + ' ago' : '';
    values.forEach((element, index) => {
      const value = read ? read.values[index] : null;
      element.textContent = value === null ? '–' : format(value);
    });
    svg.replaceChildren(...parts);
  }
  svg.addEventListener('pointermove', (event) => {
    pointed = event.clientX - svg.getBoundingClientRect().left;
    draw();
  });
  svg.addEventListener('pointerleave', () => { pointed = null; draw(); });
  new ResizeObserver(draw).observe(svg);
  return {
    add(at, values) {
      points.push({ at, values });
      points = points.filter((p) => p.at >= at - span);
      draw();
    },
    clear() { points = []; },
  };
}
