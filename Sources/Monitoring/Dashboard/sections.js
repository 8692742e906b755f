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

function tile(name, value, unit, more) {
  return h('div', { class: 'tile' }, h('span', { class: 'quiet' }, name),
    h('b', {}, value, unit ? h('small', {}, unit) : null), h('span', { class: 'quiet' }, more || '\u00a0'));
}
function showTiles(state, recent) {
  const waiting = sum(state.pools, (pool) => pool.waiting);
  const streams = sum(state.pools, (pool) => sum(pool.connections, (c) => c.streams));
  const spread = recent ? recent.request : null;
  const depths = state.queues.map((queue) => queue.messages).filter((messages) => messages !== null);
  const backlog = depths.length ? sum(depths, (n) => n) : null;
  const source = [backlog, recent ? rate(recent.rate) : null, spread, waiting, streams, state.unsettled,
    state.unconfirmed, Math.round(state.oldest_unsettled_seconds * 10), state.totals];
  show('tiles', source, () => [
    tile('Backlog', backlog === null ? '–' : number(backlog), '', 'messages'),
    tile('Throughput', recent ? rate(recent.rate) : '–', '/s', 'notifications'),
    tile('Latency p99', spread ? time(spread[1]) : '–', '', spread ? 'p50 ' + time(spread[0]) : ''),
    tile('In flight', number(streams), '', number(waiting) + ' waiting'),
    tile('Unsettled', number(state.unsettled), '',
      state.unsettled ? 'oldest ' + time(state.oldest_unsettled_seconds) : 'deliveries'),
    tile('Unconfirmed', number(state.unconfirmed), '', 'publishes'),
    tile('Parked', number(state.totals.parked), '', 'since start'),
    tile('Dead letters', number(state.totals.dead_letters), '', 'since start'),
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
        [app.topic, h('div', {}, h('small', {}, app.environment))],
        [app.usable ? pill('healthy', 'good') : pill(app.paused.length ? 'paused' : 'not connected', 'bad'), ...pauses],
        credential, [number(app.connections), h('small', {}, ' (' + number(app.authenticated) + ' authenticated)')],
      ].map((cell) => (Array.isArray(cell) ? h('div', {}, cell) : cell));
    }), 'No app is configured.'));
}

function connectionTile(connection) {
  const { streams, permits, burst, phase } = connection;
  const limit = connection.maximum_streams;
  return h('div', { class: 'connection ' + phase },
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
  const pools = state.pools.filter((pool) => pool.connections.length || pool.cargo === 'notifications');
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
        h('h3', {}, (pool.topic === null ? 'closing' : pool.topic + ' ' + pool.environment), ' ',
          h('small', {}, (pool.cargo === 'notifications' || pool.cargo === null ? '' : pool.cargo + ', ')
            + pool.endpoint + (state.workers.length > 1 ? ', worker ' + pool.worker : ''))),
        h('span', { class: 'quiet' }, about)),
      pool.connections.length ? h('div', { class: 'connections' }, pool.connections.map(connectionTile))
        : h('p', { class: 'empty' }, 'No connection. The next notification opens one.'));
  }) : h('p', { class: 'empty' }, 'No connection yet.'));
}

function showQueues(state, recent) {
  const workers = state.workers.length;
  const rows = state.queues.map((queue) => [
    queue.name, queue.messages === null ? '–' : number(queue.messages),
    queue.consumers < workers ? pill(queue.consumers + ' of ' + workers, 'bad') : number(queue.consumers),
    number(queue.prefetch_in_force), recent ? rate(recent.queues.get(queue.name) || 0) : '–',
    number(queue.deliveries),
  ]);
  show('queues', rows.map((row) => row.map((cell) => cell.textContent || cell)), () => table(
    [['Queue', 'name'], ['Messages', 'number'], ['Consumers', 'number'], ['Prefetch', 'number wide'],
      ['Per second', 'number'], ['Deliveries', 'number wide']], rows, 'No queue is consumed yet.'));
}

function showWorkers(state) {
  const rows = state.workers.map((worker) => [
    worker.name,
    worker.ended ? pill('ended', 'warn')
      : !worker.alive ? pill('not responding for ' + time(worker.silence_seconds), 'bad')
      : worker.draining ? pill('draining', 'warn') : pill('running', 'good'),
    number(worker.unsettled), number(worker.unconfirmed),
  ]);
  show('workers', rows.map((row) => row.map((cell) => cell.textContent || cell)), () => table(
    [['Worker', 'name'], ['State'], ['Unsettled', 'number'], ['Unconfirmed', 'number']], rows, 'No worker yet.'));
}
