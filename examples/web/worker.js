// SPDX-License-Identifier: MIT
// The planner in a thread of its own: {planner: bytes} once, then {id, command, document} -> {id, answer, milliseconds}.
'use strict';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
let compiled;
let planner;

// What WebAssembly's libc asks of a system: there is none. Every call is refused with ENOSYS.
const no_system = new Proxy({}, { get: (_, name) => name === 'proc_exit' ? () => { throw new Error('the planner ended'); } : () => 52 });

async function load(packed) {
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  compiled = await WebAssembly.compile(await new Response(unpacked).arrayBuffer());
  start();
}

function start() {
  const imports = {};
  for (const { module, name } of WebAssembly.Module.imports(compiled)) (imports[module] ??= {})[name] = no_system[name];
  planner = new WebAssembly.Instance(compiled, { ...imports }).exports;
  planner._initialize();
}

function text_at(address) {
  const memory = new Uint8Array(planner.memory.buffer);
  return decoder.decode(memory.subarray(address, memory.indexOf(0, address)));
}

function given(text) {
  const bytes = encoder.encode(text);
  const address = planner.malloc(bytes.length + 1);
  const memory = new Uint8Array(planner.memory.buffer);
  memory.set(bytes, address);
  memory[address + bytes.length] = 0;
  return address;
}

function ask(command, document) {
  const place = planner.malloc(4);
  const inputs = [given(command), given(document)];
  planner.llmres_ask(inputs[0], inputs[1], place);
  const address = new DataView(planner.memory.buffer).getUint32(place, true);
  const answer = address === 0 ? { error: { field: '', text: 'memory ran out' } } : JSON.parse(text_at(address));
  planner.llmres_free(address);
  for (const used of [place, ...inputs]) planner.free(used);
  return answer;
}

let ready;
onmessage = async ({ data }) => {
  if (data.planner) {
    ready = load(data.planner);
    return;
  }
  await ready;
  const began = performance.now();
  let answer;
  try {
    answer = ask(data.command, data.document);
  } catch (failure) {  // a trap leaves the module's memory as it was: a fresh one takes its place
    answer = { error: { field: '', text: `the planner failed (${failure.message}): this is a defect of llmres` } };
    start();
  }
  postMessage({ id: data.id, answer, milliseconds: performance.now() - began });
};
