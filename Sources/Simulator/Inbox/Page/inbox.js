const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const member = (object, name) => (isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined);
const text = (value) => (typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value));

// The text that a device shows, or the key of a localized text in the app.
function localized(alert, name, key, args) {
  if (member(alert, name) !== undefined) return text(alert[name]);
  if (member(alert, key) === undefined) return '';
  const values = Array.isArray(member(alert, args)) ? alert[args].map(text).join(', ') : '';
  return text(alert[key]) + (values ? ' (' + values + ')' : '');
}
function alertOf(aps) {
  const alert = member(aps, 'alert');
  if (typeof alert === 'string') return { title: '', subtitle: '', body: alert };
  return {
    title: localized(alert, 'title', 'title-loc-key', 'title-loc-args'),
    subtitle: localized(alert, 'subtitle', 'subtitle-loc-key', 'subtitle-loc-args'),
    body: localized(alert, 'body', 'loc-key', 'loc-args'),
  };
}
function soundOf(aps) {
  const sound = member(aps, 'sound');
  if (sound === undefined) return null;
  if (!isObject(sound)) return pill('sound: ' + text(sound));
  const volume = member(sound, 'volume');
  return pill('sound: ' + text(member(sound, 'name')) + (volume === undefined ? '' : ', volume ' + text(volume))
    + (member(sound, 'critical') ? ', critical' : ''), member(sound, 'critical') ? 'bad' : '');
}
const levels = { 'time-sensitive': 'warn', critical: 'bad' };
function pillsOf(entry, aps) {
  const level = member(aps, 'interruption-level');
  const event = member(aps, 'event');
  const labelled = (label, name) => member(aps, name) !== undefined && pill(label + ': ' + text(aps[name]));
  return [
    !entry['device-token'] && pill('broadcast ' + (entry['apns-channel-id'] || ''), 'good'),
    entry['apns-push-type'] && pill(entry['apns-push-type']),
    event !== undefined && pill('event: ' + text(event), text(event) === 'end' ? 'warn' : 'good'),
    level !== undefined && pill(text(level), Object.hasOwn(levels, text(level)) ? levels[text(level)] : ''),
    soundOf(aps),
    member(aps, 'content-available') === 1 && pill('content-available'),
    member(aps, 'mutable-content') === 1 && pill('mutable-content'),
    labelled('category', 'category'), labelled('thread', 'thread-id'), labelled('attributes', 'attributes-type'),
    entry['apns-collapse-id'] && pill('collapse: ' + entry['apns-collapse-id']),
    entry['apns-priority'] && pill('priority ' + entry['apns-priority']),
  ].filter(Boolean);
}
function stateOf(aps) {
  const state = member(aps, 'content-state');
  if (!isObject(state)) return null;
  return h('table', { class: 'state' }, Object.entries(state).map(([name, value]) =>
    h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, text(value)))));
}
// What a notification without text does.
function titleOf(entry, aps) {
  const badge = member(aps, 'badge');
  if (entry.kind !== 'Alert') return entry.kind;
  if (badge === undefined) return 'Alert without text';
  return badge === 0 ? 'Badge removed' : 'Badge set to ' + text(badge);
}
// The last part of the topic, and the one before where the last says nothing.
function nameOf(entry) {
  const parts = (entry['bundle-id'] || 'app').split('.');
  return parts.slice(/^(app|ios|mobile)$/i.test(parts.at(-1)) ? -2 : -1).join('.');
}
// In the browser's time zone; RFC 3339 without the zone.
const two = (n) => String(n).padStart(2, '0');
function localTime(at) {
  return at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' '
    + [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
}
// The complete entry, rendered when it is opened.
function raw(entry) {
  const details = h('details', {}, h('summary', {}, 'JSON'));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) {
      details.append(h('pre', { tabindex: '0' }, JSON.stringify(entry, null, 2)));
    }
  });
  return details;
}
const short = (token) => (token.length > 16 ? token.slice(0, 8) + '…' + token.slice(-4) : token);
function filterBy(name, value, shown) {
  return h('button', { type: 'button', class: 'link', title: 'Show only this: ' + value, onclick: () => {
    $(name).value = value;
    restart();
  } }, shown);
}
function card(entry) {
  const aps = member(entry.payload, 'aps');
  const alert = alertOf(aps);
  const isSilent = !alert.title && !alert.subtitle && !alert.body;
  const badge = member(aps, 'badge');
  const name = nameOf(entry);
  return h('li', { class: 'card' + (isSilent ? ' silent' : ''), 'data-id': entry.id },
    h('div', { class: 'icon', 'aria-hidden': 'true' }, Array.from(name)[0],
      badge !== undefined && badge !== 0 && h('span', { class: 'badge' }, text(badge).slice(0, 6))),
    h('div', {},
      h('div', { class: 'head' }, h('span', { class: 'app' }, name),
        h('time', { datetime: entry.time }, localTime(new Date(entry.time)))),
      isSilent && h('p', { class: 'title' }, titleOf(entry, aps)),
      alert.title && h('h2', { class: 'title' }, alert.title),
      alert.subtitle && h('p', { class: 'subtitle' }, alert.subtitle),
      alert.body && h('p', { class: 'body' }, alert.body),
      stateOf(aps),
      h('div', { class: 'pills' }, pillsOf(entry, aps)),
      h('div', { class: 'from' },
        entry['apns-topic'] && filterBy('topic', entry['apns-topic'], entry['apns-topic']),
        entry['device-token'] && filterBy('device-token', entry['device-token'], short(entry['device-token']))),
      raw(entry)));
}

// The newest ID and the maximum of shown entries.
const page = 100;
let newest = 0;
let shown = page;
let generation = 0;

async function ask(path, parameters) {
  const query = new URLSearchParams(parameters);
  const response = await fetch(path + '?' + query, { cache: 'no-store', signal: AbortSignal.timeout(8000) });
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}
function filters() {
  const chosen = {};
  for (const name of ['device-token', 'topic']) if ($(name).value.trim()) chosen[name] = $(name).value.trim();
  return chosen;
}
const cards = () => [...$('list').children];
const idOf = (element) => Number(element.dataset.id);
function show(answer) {
  // More entries arrived than one response contains.
  if (answer.matching > answer.notifications.length) $('list').replaceChildren();
  newest = answer['latest-id'];
  $('list').prepend(...answer.notifications.map(card));
  for (const element of cards().slice(shown)) element.remove();
  for (const element of cards()) if (idOf(element) < answer['oldest-id']) element.remove();
}
async function refresh() {
  const started = generation;
  const after = newest;
  const answer = await ask('/notifications', { ...filters(), limit: page, after });
  // Another request was faster, or the filters have changed.
  if (started !== generation || after !== newest) return;
  // The simulator was restarted.
  if (answer['latest-id'] < newest) return restart();
  show(answer);
  $('count').textContent = answer.stored.toLocaleString('en') + ' stored, ' + cards().length + ' shown';
  $('empty').hidden = cards().length > 0;
  const last = cards().at(-1);
  $('older').hidden = !last || cards().length < page || idOf(last) <= answer['oldest-id'];
  showRefused(await ask('/refused', { ...filters(), limit: 20 }));
}
let refusedID = '';
function showRefused(answer) {
  const key = answer['latest-id'] + ':' + answer.matching + ':' + answer['oldest-id'];
  if (key === refusedID) return;
  refusedID = key;
  $('refused').hidden = answer.matching === 0;
  $('refused').querySelector('summary').textContent = answer.matching + ' refused';
  $('refused').querySelector('ol').replaceChildren(...answer.notifications.map((entry) => h('li', {},
    h('strong', {}, entry.status + ' ' + (entry.reason || '')), ' ', entry.detail || '',
    h('div', { class: 'quiet' }, [localTime(new Date(entry.time)), entry['apns-topic'], entry['device-token'] && short(entry['device-token'])]
      .filter(Boolean).join(' · ')))));
}
async function turn() {
  try {
    await refresh();
    status('live', 'good');
    notice('');
  } catch (error) {
    status('not live', 'bad');
    notice(error.message);
  }
}
async function restart() {
  generation += 1;
  newest = 0;
  shown = page;
  $('list').replaceChildren();
  await turn();
}
async function older() {
  const started = generation;
  const last = cards().at(-1);
  if (!last) return;
  const answer = await ask('/notifications', { ...filters(), limit: page, before: idOf(last) });
  if (started !== generation) return;
  shown += page;
  $('list').append(...answer.notifications.map(card));
  if (answer.matching <= answer.notifications.length) $('older').hidden = true;
}
$('filter').addEventListener('submit', (event) => {
  event.preventDefault();
  restart();
});
$('reset').addEventListener('click', () => {
  $('device-token').value = '';
  $('topic').value = '';
  restart();
});
$('clear').addEventListener('click', async () => {
  await fetch('/notifications', { method: 'DELETE' });
  restart();
});
$('older').addEventListener('click', () => older().catch((error) => notice(error.message)));
async function run() {
  for (;;) {
    await turn();
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
run();
