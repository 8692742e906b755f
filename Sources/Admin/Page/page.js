'use strict';
const $ = (id) => document.getElementById(id);

// An element of HTML with attributes and children; strings become text.
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}
const pill = (text, kind) => h('span', { class: 'pill ' + (kind || '') }, text);
function status(text, kind) {
  $('status').textContent = text;
  $('status').className = 'pill ' + kind;
}
function notice(text) {
  $('notice').textContent = text;
  $('notice').hidden = text === '';
  $('notice').className = 'notice';
}
