const throughput = chart('throughput', ['accepted', 'other outcomes'], rate);
const latency = chart('latency', ['p50', 'p99'], time);
// Earlier samples, oldest first, within the interval of the rates.
let samples = [];
const rateSpan = 3;
const latencySpan = 10;

function sampleOf(state) {
  return {
    at: state.clock_seconds, groups: groupsOf(state), all: sum(state.notifications, (entry) => entry.total),
    accepted: sum(state.notifications.filter((entry) => entry.outcome === 'accepted'), (entry) => entry.total),
    queues: new Map(state.queues.map((queue) => [queue.name, queue.deliveries])),
    deadLetters: state.totals.dead_letters, counts: state.latency.request.counts, bounds: state.latency.bounds_seconds,
  };
}
// A percentile of a histogram, interpolated linearly within a bucket.
function percentile(bounds, counts, share) {
  const all = sum(counts, (n) => n);
  if (all <= 0) return null;
  let below = 0;
  for (let index = 0; index < counts.length; index += 1) {
    if (below + counts[index] >= share * all) {
      const low = index ? bounds[index - 1] : 0;
      const high = index < bounds.length ? bounds[index] : low;
      return low + (high - low) * (share * all - below) / counts[index];
    }
    below += counts[index];
  }
  return bounds[bounds.length - 1];
}
// The recent rates and latencies; null before there are two samples.
function lately(now) {
  if (samples.length && (now.at <= samples[samples.length - 1].at || now.all < samples[samples.length - 1].all)) {
    samples = [];
    throughput.clear();
    latency.clear();
  }
  samples.push(now);
  samples = samples.filter((sample) => sample.at >= now.at - latencySpan - 1);
  if (samples.length < 2) return null;
  const before = samples.find((sample) => sample.at >= now.at - rateSpan - 0.5);
  if (before === now) return null;
  const seconds = now.at - before.at;
  const differences = (after, earlier) => new Map(
    [...after].map(([key, total]) => [key, (total - (earlier.get(key) || 0)) / seconds]));
  const counts = now.counts.map((count, index) => count - samples[0].counts[index]);
  const spread = [0.5, 0.99].map((share) => percentile(now.bounds, counts, share));
  return {
    rate: (now.all - before.all) / seconds, accepted: (now.accepted - before.accepted) / seconds,
    deadLetters: now.deadLetters - samples[0].deadLetters,
    groups: differences(now.groups, before.groups), queues: differences(now.queues, before.queues),
    request: spread[0] === null ? null : spread,
  };
}

// The banner: each problem with its section of the runbook.
function showProblems(problems) {
  $('notice').hidden = problems.length === 0;
  $('notice').className = 'notice bad';
  $('notice').replaceChildren(...problems.map((problem) => h('div', {}, problem.text, ' ',
    h('button', { type: 'button', class: 'link', onclick: () => advise(problem.runbook) }, 'Runbook'))));
}
let runbook = null;
async function advise(section) {
  runbook = runbook || await (await ask('/runbook')).text();
  const found = runbook.split(/^(?=##)/m).find((part) => part.toLowerCase().startsWith('### ' + section.toLowerCase()));
  const [title, ...lines] = (found || '### ' + section).trim().split('\n');
  // Without the heads of tables; their rows become points.
  const text = lines.join('\n').trim().replace(/^\|.*\n\|[-|]+\|$\n/gm, '')
    .replace(/^\| (.*) \| (.*) \|$/gm, '• $1: $2').replace(/(.)\n(?=[^\n•])/g, '$1 ');
  const parts = text.split(/(\[[^\]]*\]\([^)]*\))/).map((part) => {
    const [, label, target] = part.match(/^\[([^\]]*)\]\(([^)]*)\)$/) || [];
    if (label === undefined) return part.replaceAll('`', '');
    if (!target.startsWith('#harebell')) return label.replaceAll('`', '');
    return h('button', { type: 'button', class: 'link', onclick: () => advise(target.slice(1)) }, label);
  });
  $('advice').replaceChildren(h('h2', {}, title.replace(/^#+ /, '')), h('div', { class: 'advice' }, parts),
    h('button', { type: 'button', class: 'link', onclick: () => { $('advice').hidden = true; } }, 'Close'));
  $('advice').hidden = false;
}

let answeredAt = 0;
async function refresh() {
  try {
    const answer = await ask('/state');
    if (answer.status === 401) return false;
    if (!answer.ok) throw new Error(await answer.text());
    const state = await answer.json();
    answeredAt = Date.now();
    $('login').hidden = true;
    $('content').hidden = false;
    render(state);
  } catch (error) {
    status('no response', 'bad');
    notice(answeredAt
      ? 'No response for ' + time(Math.round((Date.now() - answeredAt) / 1000)) + '. The page shows the last state.'
      : 'No response: ' + error.message);
  }
  return true;
}
function render(state) {
  status(state.ready ? 'ready' : 'not ready', state.ready ? 'good' : 'bad');
  showProblems(state.problems);
  $('about').textContent = state.host + ' · ' + state.version + ' · '
    + state.time.replace('T', ' ').replace(/\.\d+/, '').replace('Z', ' UTC');
  const recent = lately(sampleOf(state));
  if (recent) {
    throughput.add(state.clock_seconds, [recent.accepted, recent.rate - recent.accepted]);
    latency.add(state.clock_seconds, recent.request || [null, null]);
  }
  showTiles(state, recent);
  showOutcomes(state, recent);
  showApps(state);
  showDecoders(state);
  showPools(state);
  showQueues(state, recent);
  showWorkers(state);
}
let isRunning = false;
async function run() {
  if (isRunning) return;
  isRunning = true;
  while (await refresh()) await new Promise((resolve) => setTimeout(resolve, 1000));
  isRunning = false;
}
$('login').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(tokenKey, $('token').value.trim());
  $('token').value = '';
  notice('');
  run();
});
run();
