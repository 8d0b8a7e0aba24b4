// SPDX-License-Identifier: MIT OR Apache-2.0
// Drives every method of a running service through grpc-js: peer.js ADDRESS PROTO_FOLDER. Exit status 1 if anything was not as expected.
// Environment: CUZK_TOKEN, CUZK_TLS_DIR as for the Go client.
'use strict';
const fs = require('fs');
const path = require('path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [address, protos] = process.argv.slice(2);
const load = (file) => grpc.loadPackageDefinition(loader.loadSync(file, {includeDirs: [protos], keepCase: true, longs: String, enums: String, defaults: true}));
const cuzk = load('cuzk/v1/proving.proto').cuzk.v1;
const health = load('grpc/health/v1/health.proto').grpc.health.v1;
const reflection = load('grpc/reflection/v1/reflection.proto').grpc.reflection.v1;
const prefix = `js-${process.hrtime.bigint()}`;
const status = grpc.status;
let checks = 0, failures = 0;

function check(ok, what) {
  checks++;
  if (ok) return;
  failures++;
  console.log(`FAILED: ${what}`);
}

const options = {'grpc.max_send_message_length': -1, 'grpc.max_receive_message_length': -1, 'grpc.enable_retries': 0};
const tls = process.env.CUZK_TLS_DIR;
const read = (name) => fs.readFileSync(path.join(tls, name));
const credentials = tls ? grpc.credentials.createSsl(read('ca.pem'), read('client.key'), read('client.pem')) : grpc.credentials.createInsecure();
const open = (Service) => new Service(address, credentials, options);
const engine = open(cuzk.ProvingEngine), checker = open(health.Health), mirror = open(reflection.ServerReflection);

function metadata(more = {}, token = process.env.CUZK_TOKEN) {
  const m = new grpc.Metadata();
  if (token) m.set('authorization', `Bearer ${token}`);
  for (const k of Object.keys(more)) m.set(k, more[k]);
  return m;
}

// One unary call: {code, details, value, metadata}.
function call(client, method, request, {ms = 60000, meta = metadata(), started} = {}) {
  return new Promise((resolve) => {
    const deadline = ms ? new Date(Date.now() + ms) : undefined;
    const c = client[method](request, meta, {deadline}, (error, value) =>
      resolve(error ? {code: error.code, details: error.details, metadata: error.metadata} : {code: status.OK, value}));
    if (started) started(c);
  });
}
async function expect(client, method, request, code, more) {
  const r = await call(client, method, request, more);
  check(r.code === code, `${method}: ${status[r.code]} (${r.details}), expected ${status[code]}`);
  return r.value || {};
}
const ask = (kind, id, text) => ({request_id: id, proof_kind: kind, miner_id: '1000', sector_number: '7', vanilla_proof: Buffer.from(prefix + text),
  randomness: Buffer.alloc(32, 7)});

async function jobs() {
  for (const [kind, parts] of [['POREP_SEAL_COMMIT', 10], ['SNAP_DEALS_UPDATE', 16], ['WINDOW_POST_PARTITION', 1], ['WINNING_POST', 1]]) {
    const id = `${prefix}-${kind}`;
    const r = await expect(engine, 'SubmitProof', ask(kind, id, 'submit'), status.OK);
    check(r.job_id === id, `job id ${r.job_id}`);
    const a = await expect(engine, 'AwaitProof', {job_id: id}, status.OK);
    check(a.status === 'COMPLETED' && a.proof.length === 192 * parts && a.job_id === id, `AwaitProof of ${kind}: ${a.status} ${a.error_message}`);
  }
  const all = await Promise.all([...Array(100).keys()].map((i) => call(engine, 'Prove', {submit: ask('WINNING_POST', '', `many${i}`)})));
  check(all.every((r) => r.code === status.OK && r.value.result.status === 'COMPLETED' && r.value.result.job_id.length === 36), 'Prove, 100 at once');
}

async function waiting() {
  const id = `${prefix}-waiting`, request = ask('POREP_SEAL_COMMIT', id, 'waiting');
  await expect(engine, 'SubmitProof', request, status.OK);
  const a = await expect(engine, 'AwaitProof', {job_id: id, timeout_ms: '1'}, status.OK);
  check(a.status === 'TIMEOUT', `AwaitProof with a limit: ${a.status}`);
  await expect(engine, 'AwaitProof', {job_id: id}, status.DEADLINE_EXCEEDED, {ms: 50});
  // Here the service's clock decides: the client itself waits without a limit.
  const r = await call(engine, 'AwaitProof', {job_id: id}, {ms: 0, meta: metadata({'grpc-timeout': '40m'})});
  check(r.code === status.DEADLINE_EXCEEDED, `the service's deadline: ${status[r.code]} (${r.details})`);
  await expect(engine, 'Prove', {submit: request}, status.CANCELLED, {started: (c) => setTimeout(() => c.cancel(), 50)});
  await expect(engine, 'CancelProof', {job_id: id}, status.OK);
  check((await expect(engine, 'AwaitProof', {job_id: id}, status.OK)).status === 'CANCELLED', 'AwaitProof of a cancelled job');
  check((await expect(engine, 'CancelProof', {job_id: id}, status.OK)).was_running === false, 'CancelProof again');
  await expect(engine, 'CancelProof', {job_id: 'nothing'}, status.NOT_FOUND);
  await expect(engine, 'AwaitProof', {job_id: 'nothing'}, status.NOT_FOUND);
}

async function views() {
  const s = await expect(engine, 'GetStatus', {}, status.OK);
  check(s.queues.map((q) => q.proof_kind).join() === 'porep-c2,snap-update,window-post,winning-post', `queues ${JSON.stringify(s.queues)}`);
  check(s.gpus.length > 0 && Number(s.total_proofs_completed) > 0, `GetStatus: ${JSON.stringify(s)}`);
  const m = await expect(engine, 'GetMetrics', {}, status.OK);
  check(m.prometheus_text.includes('# TYPE cuzk_memory_budget_bytes gauge\n'), 'GetMetrics');
  const circuit_id = 'wpost-32g';
  await expect(engine, 'EvictSRS', {circuit_id}, status.OK);
  for (const i of [0, 1]) check((await expect(engine, 'PreloadSRS', {circuit_id}, status.OK)).already_loaded === !!i, `PreloadSRS no. ${i}`);
  for (const i of [0, 1]) {
    const e = await expect(engine, 'EvictSRS', {circuit_id}, status.OK);
    check(e.was_loaded === !i && (e.freed_bytes !== '0') === !i, `EvictSRS no. ${i}: ${JSON.stringify(e)}`);
  }
}

async function refusals() {
  for (const kind of [0, 5, -1]) await expect(engine, 'SubmitProof', ask(kind, '', 'bad'), status.INVALID_ARGUMENT);
  await expect(engine, 'SubmitProof', {...ask('WINNING_POST', '', 'bad'), priority: 9}, status.INVALID_ARGUMENT);
  await expect(engine, 'Prove', {}, status.INVALID_ARGUMENT);
  await expect(engine, 'PreloadSRS', {circuit_id: 'porep-33g'}, status.INVALID_ARGUMENT);
  await expect(engine, 'EvictSRS', {circuit_id: 'porep-33g'}, status.INVALID_ARGUMENT);
  const raw = (method, text) => new Promise((resolve) =>
    engine.makeUnaryRequest(method, (b) => b, (b) => b, Buffer.from(text, 'latin1'), metadata(), {}, (error) => resolve(error ? error.code : status.OK)));
  const prefix = '/cuzk.v1.ProvingEngine/';
  for (const text of ['\x0a\x05', '\x0a\x01\xff', '\x07'])
    check((await raw(prefix + 'SubmitProof', text)) === status.INVALID_ARGUMENT, `SubmitProof of ${JSON.stringify(text)}`);
  check((await raw(prefix + 'Nothing', '')) === status.UNIMPLEMENTED, 'an unknown method');
  check((await raw('/a.B/C', '')) === status.UNIMPLEMENTED, 'an unknown service');
  if (process.env.CUZK_TOKEN) {
    await expect(engine, 'GetStatus', {}, status.UNAUTHENTICATED, {meta: metadata({}, '')});
    await expect(engine, 'GetStatus', {}, status.PERMISSION_DENIED, {meta: metadata({}, 'wrong-token')});
  }
}

async function large() {
  const vanilla_proof = Buffer.alloc(200000000);
  for (let i = 0; i < vanilla_proof.length; i += 997) vanilla_proof[i] = i & 255;
  vanilla_proof.write(prefix);
  const start = Date.now();
  const r = await expect(engine, 'SubmitProof', {proof_kind: 'WINNING_POST', vanilla_proof}, status.OK);
  console.log(`200 MB: ${Date.now() - start} ms`);
  check((await expect(engine, 'AwaitProof', {job_id: r.job_id}, status.OK)).status === 'COMPLETED', 'AwaitProof of 200 MB');
  await expect(engine, 'SubmitProof', {proof_kind: 'WINNING_POST', vanilla_proof: Buffer.alloc(257 << 20)}, status.RESOURCE_EXHAUSTED);
  await expect(engine, 'GetStatus', {}, status.OK);
}

async function healthy() {
  for (const service of ['', 'cuzk.v1.ProvingEngine'])
    check((await expect(checker, 'Check', {service}, status.OK)).status === 'SERVING', `Check of '${service}'`);
  await expect(checker, 'Check', {service: 'a.B'}, status.NOT_FOUND);
  for (const [service, want] of [['cuzk.v1.ProvingEngine', 'SERVING'], ['a.B', 'SERVICE_UNKNOWN']]) {
    const code = await new Promise((resolve) => {
      const w = checker.watch({service}, metadata(), {deadline: new Date(Date.now() + 10000)});
      w.on('data', (r) => {
        check(r.status === want, `Watch of ${service}: ${r.status}`);
        w.cancel();
      });
      w.on('error', (e) => resolve(e.code));
      w.on('end', () => resolve(status.OK));
    });
    check(code === status.CANCELLED, `Watch of ${service} ended with ${status[code]}`);
  }
}

async function reflected() {
  const answers = [];
  const code = await new Promise((resolve) => {
    const s = mirror.serverReflectionInfo(metadata(), {deadline: new Date(Date.now() + 10000)});
    s.on('data', (r) => answers.push(r));
    s.on('error', (e) => resolve(e.code));
    s.on('end', () => resolve(status.OK));
    s.write({list_services: ''});
    s.write({file_containing_symbol: 'cuzk.v1.ProvingEngine'});
    s.write({file_containing_symbol: 'a.B'});
    s.end();
  });
  check(code === status.OK && answers.length === 3, `reflection: ${status[code]}, ${answers.length} answers`);
  if (answers.length !== 3) return;
  check(answers[0].list_services_response.service.some((v) => v.name === 'cuzk.v1.ProvingEngine'), 'reflection: services');
  const d = loader.loadFileDescriptorSetFromBuffer(Buffer.concat(answers[1].file_descriptor_response.file_descriptor_proto.map((b) => {
    const head = [0x0a]; // as the one field of a FileDescriptorSet
    let n = b.length;
    for (; n > 127; n >>>= 7) head.push((n & 127) | 128);
    return Buffer.concat([Buffer.from([...head, n]), b]);
  })));
  check(Object.keys(d['cuzk.v1.ProvingEngine']).length === 8, 'reflection: methods');
  check(answers[2].error_response && answers[2].error_response.error_code === status.NOT_FOUND, 'reflection: a symbol that is not there');
}

(async () => {
  for (const step of [healthy, reflected, jobs, waiting, views, refusals, large]) await step();
  for (const c of [engine, checker, mirror]) c.close();
  console.log(`grpc-js ${require('@grpc/grpc-js/package.json').version} at ${address}: ${checks} checks, ${failures} failed`);
  process.exit(failures ? 1 : 0);
})().catch((e) => {
  console.log(e);
  process.exit(1);
});
