function table(heads, rows, empty) {
  if (!rows.length) return h('p', { class: 'empty' }, empty);
  const kinds = heads.map((head) => (head[1] || ''));
  return h('div', { class: 'scroll' }, h('table', {},
    h('thead', {}, h('tr', {}, heads.map(([text, kind]) => h('th', { class: kind || null, scope: 'col' }, text)))),
    h('tbody', {}, rows.map((row) => h('tr', {},
      row.map((cell, index) => h('td', { class: kinds[index] || null }, cell)))))));
}
function bar(share, kind) {
  const inner = h('i', {});
  inner.style.width = (100 * Math.min(1, Math.max(0, share))).toFixed(1) + '%';
  return h('div', { class: 'bar ' + (kind || '') }, inner);
}
const sum = (list, value) => list.reduce((total, item) => total + value(item), 0);

// A name that may break after its dots and the like, and nowhere else, not even within a version or an address.
const breakable = (name) => name.split(/(?<=[_\/:@-])|(?<=\.)(?=[a-z])/i)
  .flatMap((part) => [h('wbr', {}), part]).slice(1);
const words = {
  Unsettled: 'Deliveries that are not acknowledged yet: they wait, are being sent, or their results are not confirmed.',
  Unconfirmed: 'Results, retries and dead letters that the broker has not confirmed yet.',
  Parked: 'Notifications that were put into a retry queue, to be sent again later.',
};
const term = (name) => words[name] ? h('abbr', { title: words[name], tabindex: 0 }, name) : name;
function tile(name, value, unit, more, kind) {
  return h('div', { class: 'tile ' + (kind || '') }, h('span', { class: 'quiet' }, term(name)),
    h('b', {}, value, unit ? h('small', {}, unit) : null), h('span', { class: 'quiet' }, more || '\u00a0'));
}
// What waits, and what for.
const reasons = {
  queue: 'in the queues', paused: 'app paused', connection: 'no connection', limits: 'permits or streams',
  pace: 'rate limit of the queue', decoder: 'decoder', confirm: 'confirm of the broker',
};
function waitingTile(waiting) {
  const parts = Object.keys(reasons).filter((name) => waiting[name]);
  const kind = waiting.paused || waiting.connection ? 'bad' : '';
  return tile('Waiting', number(sum(parts, (name) => waiting[name])), '',
    parts.map((name) => number(waiting[name]) + ' ' + reasons[name]).join(' · ') || 'nothing', 'waiting ' + kind);
}
function showTiles(state, recent) {
  const streams = sum(state.pools, (pool) => sum(pool.connections, (c) => c.streams));
  const spread = recent ? recent.request : null;
  const letters = recent && recent.deadLetters > 0;
  const source = [state.waiting, recent ? rate(recent.rate) : null, spread, streams, state.unsettled, letters,
    state.unconfirmed, Math.round(state.oldest_unsettled_seconds * 10), state.totals];
  show('tiles', source, () => [
    waitingTile(state.waiting),
    tile('Throughput', recent ? rate(recent.rate) : '–', '/s', 'notifications'),
    tile('Latency p99', spread ? time(spread[1]) : '–', '', spread ? 'p50 ' + time(spread[0]) : ''),
    tile('In flight', number(streams), '', 'at APNs'),
    tile('Unsettled', number(state.unsettled), '',
      state.unsettled ? 'oldest ' + time(state.oldest_unsettled_seconds) : 'deliveries'),
    tile('Unconfirmed', number(state.unconfirmed), '', 'publishes'),
    tile('Parked', number(state.totals.parked), '', 'since start'),
    tile('Dead letters', number(state.totals.dead_letters), '',
      letters ? 'growing' : 'since start', letters ? 'bad' : ''),
  ]);
}

// Totals by outcome and reason, over apps and push types.
function groupsOf(state) {
  const groups = new Map();
  for (const entry of state.notifications) {
    const key = entry.outcome + '\n' + (entry.reason || '');
    groups.set(key, (groups.get(key) || 0) + entry.total);
  }
  return groups;
}
function showOutcomes(state, recent) {
  const groups = groupsOf(state);
  const all = sum([...groups.values()], (n) => n);
  const rows = [...groups].sort((a, b) => b[1] - a[1]).map(([key, total]) => {
    const [outcome, reason] = key.split('\n');
    const rates = recent && recent.groups.get(key);
    return { outcome, reason, total, rate: rates ? rate(rates) : '' };
  });
  show('outcomes', rows, () => table(
    [['Outcome'], ['Reason', 'name'], ['Share', 'share wide'], ['Per second', 'number'], ['Total', 'number wide']],
    rows.map((row) => [
      pill(row.outcome, outcomeKinds[row.outcome]), row.reason || '', bar(row.total / all), row.rate,
      number(row.total),
    ]), 'No notification has finished yet.'));
}
const outcomeKinds = {
  accepted: 'good', unregistered: 'warn', expired: 'warn', rejected: 'bad', invalid: 'bad', undelivered: 'bad',
};

function showApps(state) {
  const day = 86400;
  show('apps', state.apps, () => table(
    [['App', 'name'], ['State', 'name'], ['Credential', 'name'], ['Connections', 'number wide']],
    state.apps.map((app) => {
      const left = app.certificate_expires_in_seconds;
      let credential = '';
      if (left !== null) {
        const text = left < 0 ? 'certificate expired' : 'certificate expires in ' + time(left);
        credential = left < 30 * day ? pill(text, left < 7 * day ? 'bad' : 'warn') : text;
      } else if (app.provider_token_age_seconds !== null) {
        const minutes = Math.floor(app.provider_token_age_seconds / 60);
        credential = 'provider token, ' + (minutes < 1 ? 'new' : minutes + ' min old');
      } else if (app.credential === 'provider-token') {
        credential = 'provider token, not signed yet';
      }
      const pauses = app.paused.map((pause) => h('div', { class: 'reason' }, pause.explanation, ' ',
        h('span', { class: 'quiet' }, (pause.topic === app.topic ? '' : pause.topic + ', ')
          + 'for ' + time(pause.seconds) + ', ' + number(pause.held) + ' waiting')));
      return [
        [breakable(app.topic), h('div', {}, h('small', {}, app.environment))].flat(),
        [app.usable ? pill(app.authenticated ? 'healthy' : 'connected', app.authenticated ? 'good' : '')
          : pill(app.problem.includes(' is paused: ') ? 'paused' : 'not connected', 'bad'), ...pauses],
        credential, [number(app.connections), h('small', {}, ' (' + number(app.authenticated) + ' authenticated)')],
      ].map((cell) => (Array.isArray(cell) ? h('div', {}, cell) : cell));
    }), 'No app is configured.'));
}

function showDecoders(state) {
  $('programs').hidden = state.decoders.length === 0;
  show('decoders', state.decoders, () => table(
    [['Decoder', 'name'], ['State', 'name'], ['Waiting', 'number'], ['Restarts', 'number'],
      ['Quarantined', 'number wide']],
    state.decoders.map((decoder) => [
      h('span', {}, breakable(decoder.name)),
      h('div', {}, pill(decoder.state, { working: 'good', down: 'bad' }[decoder.state] || ''),
        decoder.problem === null ? null : h('div', { class: 'reason' }, decoder.problem)),
      number(decoder.waiting), number(decoder.restarts), number(decoder.quarantined),
    ]), ''));
}

function connectionTile(connection) {
  const { streams, permits, burst, phase } = connection;
  const limit = connection.maximum_streams;
  return h('div', { class: 'connection ' + (phase === 'ready' && !connection.authenticated ? '' : phase) },
    h('div', { class: 'row' }, h('b', {}, '#' + connection.number),
      h('span', { class: 'quiet' },
        phase === 'ready' && connection.age_seconds !== null ? time(Math.floor(connection.age_seconds)) : phase)),
    h('div', { class: 'meter' }, h('div', { class: 'row' }, h('span', {}, 'streams'),
      h('span', {}, number(streams) + (limit ? ' / ' + number(limit) : ''))), bar(limit ? streams / limit : 0)),
    h('div', { class: 'meter' }, h('div', { class: 'row' }, h('span', {}, 'permits'),
      h('span', {}, number(permits) + ' / ' + number(burst))), bar(permits / burst, 'second')),
    h('div', { class: 'meter quiet' }, number(connection.permits_per_second) + ' permits/s'
      + (phase === 'ready' && !connection.authenticated ? ', not authenticated' : '')),
    connection.goaway ? pill('GOAWAY ' + connection.goaway, 'warn') : null);
}
function showPools(state) {
  const pools = state.pools.filter((pool) => pool.connections.length || pool.traffic === 'notifications');
  show('pools', pools.map((pool) => [pool, state.workers.length]), () => pools.length ? pools.map((pool) => {
    const goaway = pool.last_goaway;
    const about = [
      pool.connections.length + ' of ' + pool.maximum_connections,
      pool.waiting ? number(pool.waiting) + ' waiting' : null,
      pool.goaways ? number(pool.goaways) + (pool.goaways === 1 ? ' GOAWAY' : ' GOAWAYs')
        + (goaway ? ', last ' + goaway.reason + ' ' + time(Math.floor(goaway.seconds_ago)) + ' ago' : '') : null,
    ].filter((text) => text !== null).join(' · ');
    return h('div', { class: 'pool' },
      h('div', { class: 'row' },
        h('h3', {}, pool.topic === null ? 'closing' : [...breakable(pool.topic), ' ', pool.environment], ' ',
          h('small', {}, (pool.traffic === 'notifications' || pool.traffic === null ? '' : pool.traffic + ', '),
            breakable(pool.endpoint), (state.workers.length > 1 ? ', worker ' + pool.worker : ''))),
        h('span', { class: 'quiet' }, about)),
      pool.connections.length ? h('div', { class: 'connections' }, pool.connections.map(connectionTile))
        : h('p', { class: 'empty' }, 'No connection.'));
  }) : h('p', { class: 'empty' }, 'No connection yet.'));
}

function showQueues(state, recent) {
  const workers = state.workers.length;
  const rows = state.queues.map((queue) => [
    h('span', {}, breakable(queue.name)), queue.messages === null ? '–' : number(queue.messages),
    queue.consumers < workers ? pill(queue.consumers + ' of ' + workers, 'bad') : number(queue.consumers),
    (state.standstill ? number(queue.prefetch_in_force) + ' of ' : '') + number(queue.prefetch),
    recent ? rate(recent.queues.get(queue.name) || 0) : '–',
    number(queue.deliveries),
  ]);
  show('queues', rows.map((row) => row.map((cell) => cell.textContent || cell)), () => table(
    [['Queue', 'name'], ['Messages', 'number'], ['Consumers', 'number'], ['Prefetch', 'number wide'],
      ['Per second', 'number'], ['Deliveries', 'number wide']], rows, 'No queue is consumed yet.'));
}

function showWorkers(state) {
  const rows = state.workers.map((worker) => [
    h('span', {}, breakable(worker.name)),
    worker.ended ? pill('ended', 'warn')
      : !worker.alive ? pill('not responding for ' + time(worker.silence_seconds), 'bad')
      : worker.draining ? pill('draining', 'warn') : pill('running', 'good'),
    number(worker.unsettled), number(worker.unconfirmed),
  ]);
  show('workers', rows.map((row) => row.map((cell) => cell.textContent || cell)), () => table(
    [['Worker', 'name'], ['State'], [term('Unsettled'), 'number'], [term('Unconfirmed'), 'number']], rows, 'No worker yet.'));
}
