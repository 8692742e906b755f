// The current or last order according to the server, and the result of the last count.
let order = null;
let looked = null;
// The number of dead letters at the last count; null before.
let deadLetters = null;
let filter = {};
let isAsking = false;

async function command(path, body) {
  isAsking = true;
  drawOrders();
  try {
    const answer = await ask('/dead-letters/' + path, body);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    order = await answer.json();
    follow();
  } catch (error) {
    order = { running: false, end: 'failed', detail: error.message, order: path };
  }
  isAsking = false;
  drawOrders();
}
let isFollowing = false;
async function follow() {
  if (isFollowing) return;
  isFollowing = true;
  while (order && order.running) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    try {
      const answer = await ask('/dead-letters/run');
      if (!answer.ok) break;
      order = await answer.json();
    } catch (error) { continue; }
    drawOrders();
  }
  isFollowing = false;
  if (order && order.order === 'look' && order.end === 'complete') looked = order;
  if (looked && !Object.keys(filter).length) deadLetters = looked.chosen;
  drawOrders();
}

function groupName(group) {
  return [group.outcome || (group.maker === 'broker' ? 'rejected by the broker' : 'unknown'), group.reason]
    .filter((text) => text).join(', ');
}
function filterOf(group) {
  return {
    outcomes: group.outcome ? [group.outcome] : [], reasons: group.reason ? [group.reason] : [],
    origin: group.queue,
  };
}
function replayForm() {
  const chosen = looked.chosen;
  const rateField = h('input', { type: 'number', min: 1, max: 1000000, value: 500, id: 'rate' });
  const limitField = h('input', { type: 'number', min: 1, placeholder: 'all', id: 'limit' });
  const confirmed = h('input', { type: 'checkbox', id: 'confirmed' });
  const replay = h('button', { class: 'danger', id: 'replay', disabled: true, onclick: () => {
    const body = { ...filter, rate: Number(rateField.value) };
    if (limitField.value) body.limit = Number(limitField.value);
    looked = null;
    deadLetters = null;
    command('replay', body);
  } }, 'Replay');
  confirmed.addEventListener('change', () => { replay.disabled = !confirmed.checked; });
  return h('div', { class: 'row' },
    h('label', { class: 'row' }, 'Messages per second', rateField), h('label', { class: 'row' }, 'Limit', limitField),
    h('label', { class: 'row' }, confirmed, 'Replay ' + number(chosen) + ' messages to their queues'), replay);
}
function groupTable() {
  const isFiltered = Object.keys(filter).length > 0;
  const rows = looked.groups.map((group) => [
    h('div', {}, group.outcome ? tag(group.outcome, outcomeKinds[group.outcome])
      : tag(group.maker === 'broker' ? 'broker' : 'unknown')),
    group.reason || '', group.target || (group.queue ? group.queue + ' (not configured)' : 'unknown'),
    group.last_failed_at || '', number(group.count),
    group.target && !isFiltered ? h('button', { class: 'plain', onclick: () => {
      filter = filterOf(group);
      command('replay', { ...filter, dry_run: true });
    } }, 'Replay…') : '',
  ]);
  return table([['Outcome'], ['Reason', 'name'], ['Queue', 'name wide'], ['Last failed', 'wide'],
    ['Count', 'number'], ['', 'number']], rows, 'There are no dead letters.');
}
function orderLine() {
  if (!order) return null;
  const name = order.order === 'replay' ? 'Replay' : 'Count';
  if (order.running) {
    const done = order.order === 'replay' ? order.replayed : order.seen;
    return h('div', { class: 'steps' },
      h('div', { class: 'row' }, name + ': ' + number(done) + ' of ' + number(order.messages),
        h('button', { class: 'plain', onclick: () => command('stop', {}) }, 'Stop')),
      bar(order.messages ? done / order.messages : 0));
  }
  if (order.end !== 'complete') {
    return h('div', {}, tag(name + ' ' + order.end, order.end === 'interrupted' ? 'warn' : 'bad'), ' ',
      order.detail || '');
  }
  if (order.order !== 'replay') return null;
  const rest = [number(order.left) + ' left'];
  if (order.refused) rest.push(number(order.refused) + ' refused: ' + order.complaints.join('; '));
  if (order.uncertain) rest.push(number(order.uncertain) + ' uncertain, possibly duplicated');
  return h('div', { id: 'replayed' }, tag(number(order.replayed) + ' replayed', order.refused ? 'warn' : 'good'), ' ',
    rest.join(', '));
}
function drawOrders() {
  const busy = isAsking || (order && order.running);
  const isFiltered = Object.keys(filter).length > 0;
  const look = h('button', { class: 'plain', id: 'look', disabled: busy, onclick: () => {
    filter = {};
    command('look', {});
  } }, looked ? (isFiltered ? 'Show all' : 'Refresh') : 'Count');
  const about = looked
    ? number(looked.chosen) + (isFiltered ? ' selected of ' : ' counted of ') + number(looked.messages)
      + ' in ' + looked.queue
    : 'Counting delivers each message once, so it happens only on request.';
  $('orders').replaceChildren(...[
    h('div', { class: 'row' }, look, h('span', { class: 'quiet' }, about)), orderLine(),
    looked && !busy ? groupTable() : null, looked && !busy && isFiltered && looked.chosen ? replayForm() : null,
  ].filter((part) => part));
}
let hasOrders = null;
function showOrders(state) {
  if (hasOrders === state.takes_orders) return;
  hasOrders = state.takes_orders;
  if (hasOrders) return drawOrders();
  $('orders').replaceChildren(h('p', { class: 'empty' },
    'Configure admin.token_file to count and replay dead letters here, or use "harebell dead-letters".'));
}
