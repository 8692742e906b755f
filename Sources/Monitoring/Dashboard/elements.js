// Replaces the content of an element if its source has changed.
const shown = new Map();
function show(id, source, make) {
  const text = JSON.stringify(source);
  if (shown.get(id) === text) return;
  shown.set(id, text);
  $(id).replaceChildren(...[make()].flat());
}

const whole = new Intl.NumberFormat('en');
const number = (n) => whole.format(n);
function rate(n) {
  if (n >= 100 || n === 0) return number(Math.round(n));
  return n >= 10 ? n.toFixed(1) : n.toFixed(2);
}
function time(seconds) {
  const s = Math.abs(seconds);
  const sign = seconds < 0 ? '−' : '';
  if (s === 0) return '0 s';
  if (s < 0.001) return sign + (s * 1e6).toFixed(0) + ' µs';
  if (s < 0.01) return sign + (s * 1000).toFixed(1) + ' ms';
  if (s < 1) return sign + (s * 1000).toFixed(0) + ' ms';
  if (s < 10) return sign + s.toFixed(1) + ' s';
  if (s < 120) return sign + s.toFixed(0) + ' s';
  if (s < 7200) return sign + (s / 60).toFixed(0) + ' min';
  if (s < 172800) return sign + (s / 3600).toFixed(0) + ' h';
  return sign + (s / 86400).toFixed(0) + ' d';
}

const tokenKey = 'harebell-token';
async function ask(path) {
  const token = sessionStorage.getItem(tokenKey);
  const request = { cache: 'no-store', headers: {} };
  if (token) request.headers.Authorization = 'Bearer ' + token;
  request.signal = AbortSignal.timeout(8000);
  const answer = await fetch(path, request);
  if (answer.status === 401 && sessionStorage.getItem(tokenKey) === token) askForToken(token !== null);
  return answer;
}
function askForToken(wasWrong) {
  sessionStorage.removeItem(tokenKey);
  $('content').hidden = true;
  $('login').hidden = false;
  status('token needed', 'warn');
  notice(wasWrong ? 'That is not the token.' : '');
}
