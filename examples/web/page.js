// SPDX-License-Identifier: MIT
// The page is a view of one job document, `job`: the form edits it, the link holds it, the planner answers it.
'use strict';

const $ = (id) => document.getElementById(id);
const first_job = {
  model: 'llama-3.1-8b', task: 'serving', runtime: 'vllm', context: 8192, batch: 8, cluster: { gpu: 'rtx-4090', gpus: 1 } };
let job = structuredClone(first_job);

// ---- The planner: one thread for plans, another for what takes longer --------------------------------------------------

function planner(packed) {
  const url = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));
  const worker = new Worker(url);
  const waiting = new Map();
  let asked = 0;
  worker.postMessage({ planner: packed });
  worker.onmessage = ({ data }) => { waiting.get(data.id)(data); waiting.delete(data.id); };
  return (command, asked_document) => new Promise((resolve) => {
    waiting.set(++asked, resolve);
    worker.postMessage({ id: asked, command, document: typeof asked_document === 'string' ? asked_document : JSON.stringify(asked_document) });
  });
}

const packed = Uint8Array.from(atob($('planner').textContent.trim()), (c) => c.charCodeAt(0));
const ask = planner(packed);
const ask_longer = planner(packed);

// ---- Numbers as people read them -----------------------------------------------------------------------------------

const round = (x, digits = 3) => Number(x.toPrecision(digits)).toLocaleString('en', { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(Math.abs(x) + 1))) });
function in_steps(x, base, units) {
  let i = 0;
  while (Math.abs(x) >= base && i + 1 < units.length) { x /= base; ++i; }
  return `${round(x)} ${units[i]}`;
}
const bytes = (n) => in_steps(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
const seconds = (s) => s >= 120 ? `${round(s / 60)} min` : s >= 1 ? `${round(s)} s` : s >= 1e-3 ? `${round(s * 1e3)} ms` : `${round(s * 1e6)} µs`;
const whole = (n) => Math.round(n).toLocaleString('en');
const bounds = (b, show) => b && b.low !== b.high ? `${show(b.low)} to ${show(b.high)}` : '';

// ---- Small parts of pages ------------------------------------------------------------------------------------------

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
function figure(into, name, value, small = '') {
  into.append(element('div', {}, element('dt', { textContent: name }),
    element('dd', {}, value, small ? element('small', { textContent: small }) : '')));
}
async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {  // a page opened from a file may not be allowed to
    const area = element('textarea', { value: text });
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand('copy') ? 'Copied' : 'Copying is not allowed here';
    area.remove();
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}

// ---- The form ------------------------------------------------------------------------------------------------------

const formats = ['bf16', 'fp16', 'fp8_e4m3', 'int8', 'q8_0', 'q6_k', 'q5_k_m', 'q4_k_m', 'q3_k_m', 'iq4_xs', 'awq_int4_g128', 'gptq_int4_g128', 'nf4', 'mxfp4', 'nvfp4'];
const serving = ['serving'], training = ['finetuning', 'pretraining'];
const form_fields = [
  { key: 'context', label: 'Tokens a sequence', tasks: serving, number: true },
  { key: 'batch', label: 'Sequences at once', tasks: serving, number: true },
  { key: 'weights', label: 'Weights', tasks: serving, list: formats, empty: 'as published' },
  { key: 'kv_cache', label: 'KV cache', tasks: serving, list: ['bf16', 'fp16', 'fp8_e4m3', 'q8_0', 'q4_0'], empty: 'as computed' },
  { key: 'sequence', label: 'Tokens a sequence', tasks: training, number: true },
  { key: 'micro_batch', label: 'Micro-batch', tasks: training, number: true, empty: '1' },
  { key: 'global_batch', label: 'Global batch', tasks: training, number: true },
  { key: 'recompute', label: 'Recompute', tasks: training, choices: ['none', 'selective', 'full'] },
  { key: 'adapter.kind', label: 'Adapter', tasks: ['finetuning'], choices: ['lora', 'rslora', 'dora', 'ia3', 'prompt'], empty: 'none' },
  { key: 'adapter.rank', label: 'Rank', tasks: ['finetuning'], number: true },
  { key: 'weights', label: 'Weights', tasks: training, list: ['bf16', 'fp32', 'nf4', 'int8'], empty: 'as published' },
  { key: 'optimizer', label: 'Optimizer', tasks: training, list: ['adamw', 'adamw_8bit', 'adafactor', 'lion', 'muon', 'sgd'], empty: 'adamw' },
];
const engines = { serving: 'vllm', finetuning: 'huggingface', pretraining: 'megatron' };
let runtimes = [];
let keys = [];

const parts = (key) => key.split('.');
const value_at = (key) => parts(key).reduce((inside, part) => inside?.[part], job);
function set_value(key, value) {
  const path = parts(key), last = path.pop();
  let inside = job;
  for (const part of path) {
    if (typeof inside[part] === 'string' && part === 'runtime') inside[part] = { name: inside[part] };
    if (typeof inside[part] !== 'object' || inside[part] === null) inside[part] = {};
    inside = inside[part];
  }
  if (value === '' || value === undefined) delete inside[last];
  else inside[last] = value;
  if (path.length === 1 && Object.keys(job[path[0]]).length === 0) delete job[path[0]];
}
/** What was typed as the value of its type; what is no number stays text, which the planner refuses by name. */
function typed(text, number) {
  text = text.trim();
  if (text === 'true' || text === 'false') return number === 'any' ? text === 'true' : text;
  return number && text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}
const task = () => job.task ?? 'serving';
const engine = () => (typeof job.runtime === 'object' ? job.runtime?.name : job.runtime) ?? 'none';

function show_fields() {
  const list_of = (field, id) => element('datalist', { id }, ...field.list.map((value) => element('option', { value })));
  $('fields').replaceChildren(...form_fields.filter((field) => field.tasks.includes(task())).map((field) => {
    const id = `field-${field.key}`;
    const input = field.choices
      ? element('select', {}, element('option', { value: '', textContent: field.empty ?? 'default' }), ...field.choices.map((choice) => element('option', { value: choice, textContent: choice })))
      : element('input', { placeholder: field.empty ?? 'default', inputMode: field.number ? 'numeric' : 'text', spellcheck: false });
    Object.assign(input, { id, value: value_at(field.key) ?? '' });
    if (field.list) input.setAttribute('list', `${id}-list`);
    input.dataset.key = field.key;
    input.addEventListener('input', () => { set_value(field.key, typed(input.value, field.number)); changed(input); });
    const row = element('div', { className: 'row' }, element('label', { htmlFor: id, textContent: field.label }), input);
    if (field.list) row.append(list_of(field, `${id}-list`));
    return row;
  }));
}

function show_runtimes() {
  const names = [...new Set(runtimes.filter((r) => r.work === 'any' || (r.work === 'serving') === (task() === 'serving')).map((r) => r.name))];
  const [name, version = ''] = engine().split('@');
  if (!names.includes(name)) names.unshift(name);
  $('runtime').replaceChildren(...names.map((value) => element('option', { value, textContent: value === 'none' ? 'none (tensors alone)' : value })));
  $('runtime').value = name;
  $('version').value = version;
}

/** The form shows the document; `but` is the input that is being typed in. */
function show_job(but) {
  const put = (id, value) => { if ($(id) !== but) $(id).value = value; };
  const config = typeof job.model === 'object' && job.model !== null;
  $('model').hidden = config;
  $('config').hidden = !config;
  if (config) $('config').firstChild.textContent = `${job.model.name ?? job.model._name_or_path ?? job.model.model_type ?? job.model.from ?? 'a shape'}, from its ${job.model.model_type ? 'config.json' : 'description'}`;
  else put('model', job.model ?? '');
  put('gpu', job.cluster?.gpu ?? '');
  put('gpus', job.cluster?.gpus ?? 1);
  for (const radio of document.getElementsByName('task')) radio.checked = radio.value === task();
  if (!$('runtime').contains(but) && but !== $('version')) show_runtimes();
  if (!$('fields').contains(but)) show_fields();
  put('document', JSON.stringify(job, null, 2));
}

function set_engine() {
  const name = $('runtime').value + ($('version').value.trim() ? `@${$('version').value.trim()}` : '');
  if (typeof job.runtime === 'object' && job.runtime !== null) job.runtime.name = name;
  else job.runtime = name;
}

$('model').addEventListener('input', () => { if (!take_text($('model').value)) { job.model = $('model').value.trim(); changed($('model')); } });
$('gpu').addEventListener('input', () => { set_value('cluster.gpu', $('gpu').value.trim()); changed($('gpu')); });
$('gpus').addEventListener('input', () => { set_value('cluster.gpus', typed($('gpus').value, true)); delete job.layout; changed($('gpus')); });
$('runtime').addEventListener('input', () => { $('version').value = ''; job.runtime = $('runtime').value; changed($('runtime')); });
$('version').addEventListener('input', () => { set_engine(); changed($('version')); });
for (const radio of document.getElementsByName('task'))
  radio.addEventListener('input', () => {
    for (const field of form_fields) if (!field.tasks.includes(radio.value)) set_value(field.key, '');
    job.task = radio.value;
    job.runtime = engines[radio.value];
    delete job.layout;
    if (radio.value === 'serving') Object.assign(job, { context: 8192, batch: 8 });
    else Object.assign(job, { sequence: 2048, micro_batch: 1 });
    changed();
  });
$('document').addEventListener('input', () => {
  const text = $('document').value;
  try {
    const read = JSON.parse(text);
    if (typeof read !== 'object' || read === null || Array.isArray(read)) throw new SyntaxError('a JSON object is expected');
    job = read;
    changed($('document'));
  } catch {
    refuse_text(text);
  }
});
$('key').addEventListener('input', () => { $('key-help').textContent = keys.find((k) => k.path === $('key').value)?.help ?? ''; });
$('add').addEventListener('click', () => {
  if (!$('key').value.trim()) return;
  set_value($('key').value.trim(), typed($('value').value, 'any'));
  changed();
});
$('reset').addEventListener('click', () => { job = structuredClone(first_job); changed(); });
$('link').addEventListener('click', () => copy(location.href, $('link')));
$('question').addEventListener('submit', (event) => event.preventDefault());

// ---- A config.json: chosen, dropped or pasted; it is read here ----------------------------------------------------------

/** Takes a text as a model's description if it looks like JSON. */
function take_text(text) {
  if (!text.trim().startsWith('{')) return false;
  try {
    const read = JSON.parse(text);
    if (read.model !== undefined && read.model_type === undefined) job = read;  // a whole job document
    else job.model = read;
    if (job.context > read.max_position_embeddings) job.context = read.max_position_embeddings;
    delete job.layout;
    changed();
  } catch {
    refuse_text(JSON.stringify({ ...job, model: 0 }).replace('"model":0', `"model":${text}`));
  }
  return true;
}
async function take_file(file) {
  if (file.size > 4e6) return show_refusal({ field: 'model', text: `${file.name} has ${bytes(file.size)}; expected a config.json` });
  const text = await file.text();
  if (!take_text(text)) show_refusal({ field: 'model', text: `${file.name} is no JSON object; expected a config.json` });
}
$('choose').addEventListener('click', () => $('file').click());
$('file').addEventListener('change', () => { if ($('file').files[0]) take_file($('file').files[0]); $('file').value = ''; });
$('config').querySelector('button').addEventListener('click', () => { job.model = first_job.model; changed(); $('model').focus(); });
addEventListener('dragover', (event) => { event.preventDefault(); $('drop').hidden = false; });
addEventListener('dragleave', (event) => { if (!event.relatedTarget) $('drop').hidden = true; });
addEventListener('drop', (event) => {
  event.preventDefault();
  $('drop').hidden = true;
  if (event.dataTransfer.files[0]) take_file(event.dataTransfer.files[0]);
});
addEventListener('paste', (event) => {
  const text = event.clipboardData?.getData('text') ?? '';
  if (!(event.target instanceof HTMLTextAreaElement) && text.trim().startsWith('{')) { event.preventDefault(); take_text(text); }
});

// ---- The answer ----------------------------------------------------------------------------------------------------

const term_names = { kv_cache: 'KV cache', recurrent_state: 'recurrent state', optimizer_scratch: 'optimizer step', fragmentation: 'reserved, unused' };
const colours = { weights: '#0072b2', adapter: '#56b4e9', gradients: '#e69f00', optimizer: '#f0e442', optimizer_scratch: '#b8a800', activations: '#009e73', kv_cache: '#d55e00',
  recurrent_state: '#cc79a7', logits: '#8fb0cf', communication: '#8c6d9e', workspace: '#a8a8a8', runtime: '#6d7680', fragmentation: '#c9ced6', reference: '#004a73' };
const verdicts = { fits: 'It fits', tight: 'It is tight', does_not_fit: 'It does not fit' };

function layout_text(l) {
  const degrees = [['tensor', l.tensor], ['pipeline', l.pipeline], ['chunks', l.virtual_pipeline], ['data', l.data], ['context', l.context_parallel],
    ['expert', l.expert], ['replicas', l.replicas]].filter(([, n]) => n > 1).map(([name, n]) => `${name} ${n}`);
  if (l.zero > 0) degrees.push(`ZeRO ${l.zero}`);
  return degrees.join(' · ') || 'one GPU';
}

function show_bar(memory) {
  const terms = Object.entries(memory.terms).filter(([, size]) => size > 0);
  const held = memory.needed ?? memory;  // what the job takes, where the engine reserves more
  const end = Math.max(memory.usable, memory.high, memory.expected);
  const at = (size) => `${(100 * Math.max(0, size)) / end}%`;
  const track = element('div', { className: 'track' }, ...terms.map(([name, size]) => {
    const part = element('div', { title: `${term_names[name] ?? name}: ${bytes(size)}` });
    part.style.cssText = `width:${at(size)};background:${colours[name]}`;
    return part;
  }));
  const usable = element('div', { className: 'usable' + (memory.usable > 0.8 * end ? ' end' : '') }, element('span', { textContent: `usable ${bytes(memory.usable)}` }));
  usable.style.left = at(memory.usable);
  const bound = element('div', { className: 'bound', title: `between ${bytes(memory.low)} and ${bytes(memory.high)}` });
  bound.style.cssText = `left:${at(memory.low)};width:${at(memory.high - memory.low)}`;
  $('bar').replaceChildren(track, bound, usable);
  $('bar').setAttribute('role', 'img');
  $('bar').setAttribute('aria-label', `${bytes(held.expected)} of ${bytes(memory.usable)}: ` + terms.map(([name, size]) => `${term_names[name] ?? name} ${bytes(size)}`).join(', '));
  $('terms').replaceChildren(...terms.map(([name, size]) => {
    const swatch = element('i');
    swatch.style.background = colours[name];
    return element('li', {}, swatch, term_names[name] ?? name.replace('_', ' '), element('b', { textContent: bytes(size) }));
  }));
}

function show_speed(time, bottleneck) {
  const into = element('dl');
  const parallel = `limited by ${bottleneck.replaceAll('_', ' ')}`;
  figure(into, 'Throughput', `${round(time.tokens_per_second)} tokens/s`, parallel);
  if (time.step !== undefined) figure(into, 'A step', seconds(time.step), bounds(time.step_bounds, seconds));
  else {
    figure(into, 'First token', seconds(time.time_to_first_token), bounds(time.time_to_first_token_bounds, seconds));
    figure(into, 'Each next token', seconds(time.time_per_output_token), bounds(time.time_per_output_token_bounds, seconds));
  }
  figure(into, 'Of the GPUs’ arithmetic', `${round(100 * time.mfu, 2)} %`);
  $('speed').replaceChildren(...into.children);
}

/** The phases of a policy that learns from rollouts: how long each takes, and its memory beside what the others keep. */
function show_workload(workload) {
  if (!workload) return;
  const into = element('dl');
  figure(into, 'A step of all phases', seconds(workload.step.expected), `${round(workload.answers_per_second)} answers/s, fullest in ${workload.worst}`);
  for (const phase of workload.phases)
    figure(into, `Phase ${phase.phase}`, seconds(phase.time.expected),
      `${bytes(phase.own.expected)} beside ${bytes(phase.resident.expected)} of others: ${verdicts[phase.verdict].toLowerCase()}`);
  $('speed').append(...into.children);
}

function show_limits(limits, pool) {
  const into = element('dl');
  const known = (n, unit = '') => n === null ? 'none' : whole(n) + unit;
  figure(into, task() === 'serving' ? 'Largest batch' : 'Largest micro-batch', known(limits.max_batch));
  figure(into, 'Longest sequence', known(limits.max_context, ' tokens'));
  figure(into, 'Fewest GPUs', known(limits.min_gpus));
  if (pool?.tokens) figure(into, 'Room for caches', `${whole(pool.tokens)} tokens`, `${round(pool.concurrency)} sequences of full length`);
  $('limits').replaceChildren(...into.children);
}

/** A remedy is a sentence; where it has a patch of the job document, a button applies it. */
function remedy({ text, patch, tokens_per_second }) {
  return element('li', {}, element('span', { textContent: text }), element('small', { textContent: `fits, ${round(tokens_per_second)} tokens/s` }),
    element('button', { type: 'button', textContent: 'Try it', onclick: () => { merge(job, patch); changed(); } }));
}
/** JSON merge patch (RFC 7396). */
function merge(into, patch) {
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete into[key];
    else if (typeof value === 'object' && !Array.isArray(value)) merge(typeof into[key] === 'object' && into[key] !== null ? into[key] : (into[key] = {}), value);
    else into[key] = value;
  }
}

function show_refusal(error) {
  $('verdict').dataset.is = 'refused';
  $('verdict').children[0].textContent = 'This cannot be planned';
  $('verdict').children[1].textContent = error.text;
  $('reasons').replaceChildren();
  $('plan').classList.add('stale');
  const wrong = error.field.split('.').pop();
  for (const input of $('question').elements) {
    const key = (input.dataset.key ?? input.id).split('.').pop();
    const is_it = key !== '' && (key === wrong || (key === 'document' && wrong === 'JSON'));
    if (is_it) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  }
  $('answer').setAttribute('aria-busy', 'false');
}
async function refuse_text(text) {
  ++questions;
  const { answer } = await ask('plan', text);
  if (answer.error) show_refusal(answer.error);
}

function show_plan(answer, milliseconds) {
  const { memory } = answer;
  const held = memory.needed ?? memory;
  $('verdict').dataset.is = answer.verdict;
  $('verdict').children[0].textContent = verdicts[answer.verdict];
  $('verdict').children[1].textContent = `${bytes(held.expected)}${held.low === held.high ? '' : ` (${bytes(held.low)} to ${bytes(held.high)})`} of ${bytes(memory.usable)} usable `
    + `${answer.cluster.gpus > 1 ? 'on the busiest GPU' : 'on the GPU'}, fullest in ${memory.phase}`;
  for (const input of $('question').elements) input.removeAttribute('aria-invalid');
  show_bar(memory);
  show_speed(answer.time, answer.bottleneck);
  show_workload(answer.reinforcement);
  show_limits(answer.limits, answer.cache_pool);
  $('reasons').replaceChildren(...answer.reasons.map((r) => element('li', { textContent: r.text })));
  $('help').replaceChildren(...answer.would_help.map(remedy));
  $('help-card').hidden = answer.would_help.length === 0;
  $('fixed').hidden = !job.layout;
  if (job.layout) $('fixed').firstChild.textContent = `Chosen by you: ${layout_text(answer.layout)}`;
  const assumed = Object.entries(answer.assumed ?? {}).map(([key, value]) => `${key} ${value === null ? 'unknown' : typeof value === 'object' ? JSON.stringify(value) : value}`);
  $('assumed').hidden = assumed.length === 0;
  $('assumed').textContent = `Not said, and assumed: ${assumed.join(', ')}`;
  $('json').textContent = JSON.stringify(answer, null, 2);
  $('took').textContent = `Planned in ${round(milliseconds, 2)} ms.`;
  $('plan').hidden = false;
  $('plan').classList.remove('stale');
  $('answer').setAttribute('aria-busy', 'false');
}

function show_layouts(found, chosen) {
  const serves = task() === 'serving';
  const heads = ['Layout', 'Tokens/s', ...(serves ? ['First token', 'Next token'] : ['Step']), 'Memory', ''];
  const same = (l) => ['tensor', 'pipeline', 'data', 'context_parallel', 'expert', 'zero', 'virtual_pipeline'].every((k) => l[k] === chosen[k]);
  const rows = found.best.map((f) => {
    const cells = [layout_text(f.layout), whole(f.tokens_per_second),
      ...(serves ? [seconds(f.time_to_first_token.expected), seconds(f.time_per_output_token.expected)] : [seconds(f.step.expected)]), bytes(f.memory.expected)];
    const row = element('tr', {}, ...cells.map((text) => element('td', { textContent: text })));
    if (same(f.layout)) row.setAttribute('aria-current', 'true');
    const use = element('button', { type: 'button', textContent: 'Use', ariaLabel: `Use ${layout_text(f.layout)}`, onclick: () => { job.layout = f.layout; changed(); } });
    row.append(element('td', {}, use));
    return row;
  });
  $('layouts').replaceChildren(element('thead', {}, element('tr', {}, ...heads.map((text) => element('th', { scope: 'col', textContent: text })))), element('tbody', {}, ...rows));
  const launch = found.best[0]?.launch;
  $('launch').hidden = !launch;
  $('launch').firstElementChild.textContent = launch ?? '';
  $('launch').lastElementChild.onclick = () => copy(launch, $('launch').lastElementChild);
}

function show_pictures(pictures) {
  const meaning = { memory: 'Memory of the busiest GPU by term', phases: 'Memory over the phases of a step', layers: 'Layers over GPUs',
    workload: 'Memory in each phase of the workload',
    roofline: 'Roofline of a step: kernels beside the peaks of the GPU',
    tradeoff: 'Throughput against the time of a token' };
  $('pictures').replaceChildren(...Object.entries(pictures).filter(([name]) => name !== 'memory').map(([name, svg]) =>
    element('img', { alt: meaning[name] ?? name, src: `data:image/svg+xml,${encodeURIComponent(svg)}` })));
  $('pictures').parentElement.hidden = !$('pictures').childElementCount;
}

// ---- A question is asked -------------------------------------------------------------------------------------------

let questions = 0;
let later;

async function changed(but) {
  const mine = ++questions;
  show_job(but);
  history.replaceState(null, '', `#${encodeURIComponent(JSON.stringify(job))}`);
  const { answer, milliseconds } = await ask('plan', job);
  if (mine !== questions) return;
  if (answer.error) return show_refusal(answer.error);
  show_plan(answer, milliseconds);
  clearTimeout(later);
  later = setTimeout(async () => {
    const { layout, ...free } = job;
    const [search, pictures] = await Promise.all([ask_longer('search', { job: free, top: 6 }), ask_longer('pictures', job)]);
    if (mine !== questions) return;
    $('layouts-card').hidden = Boolean(search.answer.error);
    if (!search.answer.error) show_layouts(search.answer, answer.layout);
    if (!pictures.answer.error) show_pictures(pictures.answer);
    $('answer').dataset.whole = mine;
  }, 150);
}
$('fixed').querySelector('button').addEventListener('click', () => { delete job.layout; changed(); });

function read_link() {
  if (location.hash.length < 2) return changed();
  let text = location.hash.slice(1);
  try {
    text = decodeURIComponent(text);
    const read = JSON.parse(text);
    if (typeof read !== 'object' || read === null || Array.isArray(read)) throw new SyntaxError();
    job = read;
  } catch {
    show_job();
    return show_refusal({ field: '', text: `The link holds no question: ${text.slice(0, 60)}` });
  }
  changed();
}
addEventListener('hashchange', read_link);

(async () => {
  const [models, gpus, known_runtimes, fields] = (await Promise.all(['models', 'gpus', 'runtimes', 'fields'].map((table) => ask_longer(table, {})))).map((a) => a.answer);
  const option = (value, label = '') => element('option', { value, label });
  $('models').replaceChildren(...models.map((m) => option(m.name, `${round(m.parameters / 1e9)} B parameters`)));
  $('gpu-names').replaceChildren(...gpus.map((g) => option(g.id, g.name)));
  runtimes = known_runtimes;
  keys = fields.map((f) => ({ path: f.object === '' ? f.name : f.object === 'host' ? `cluster.host.${f.name}` : `${f.object}.${f.name}`, help: f.help }));
  $('keys').replaceChildren(...keys.map((k) => option(k.path)));
  read_link();
})();

if (location.protocol.startsWith('http') && 'serviceWorker' in navigator) navigator.serviceWorker.register('offline.js').catch(() => {});
