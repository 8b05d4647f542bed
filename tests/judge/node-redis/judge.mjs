// Judges a server by node-redis. The server's port, its abilities and the command that kills and
// restarts it are in JUDGE_PORT, JUDGE_ABILITIES and JUDGE_RESTART.
import assert from 'node:assert/strict';
import { exec } from 'node:child_process';
import { promisify } from 'node:util';
import { createClient, ErrorReply, RESP_TYPES } from 'redis';

const url = `redis://127.0.0.1:${process.env.JUDGE_PORT}`;
const abilities = new Set((process.env.JUDGE_ABILITIES ?? '').split(' '));
const numbers = (n) => [...Array(n).keys()];

async function connect(RESP) {
  const client = createClient({ url, RESP, socket: { reconnectStrategy: 50 } });
  client.on('error', () => {}); // the commands report it
  return client.connect();
}

async function strings(client) {
  assert.equal(await client.set('a', '1'), 'OK');
  assert.equal(await client.get('a'), '1');
  assert.equal(await client.get('missing'), null);
  assert.equal(await client.set('a', '2', { NX: true }), null);
  assert.equal(await client.set('a', '2', { XX: true, GET: true }), '1');
  assert.equal(Number(await client.setNX('a', '3')), 0);
  assert.equal(await client.getSet('a', '4'), '2');
  assert.equal(await client.strLen('a'), 1);
  assert.equal(await client.type('a'), 'string');
  await client.mSet({ b: 'x', c: 'y' });
  assert.deepEqual(await client.mGet(['b', 'missing', 'c']), ['x', null, 'y']);
  assert.equal(await client.exists(['a', 'b', 'missing']), 2);
  assert.equal(await client.del(['a', 'b', 'c', 'missing']), 3);
}

async function values(client) {
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const all = Buffer.from(numbers(256));
  const large = Buffer.alloc(1 << 20, all);
  for (const value of [all, Buffer.alloc(0), large, Buffer.from('\r\n$-1\r\n')]) {
    await client.set(all, value);
    assert.ok(value.equals(await bytes.get(all)), `a value of ${value.length} bytes`);
  }
  await client.set('', 'empty key');
  assert.equal(await client.get(''), 'empty key');
  assert.equal(await client.del([all, '']), 2);
}

async function pipelines(client) {
  await Promise.all(numbers(1000).map((i) => client.set(`p${i}`, `v${i}`)));
  const got = await Promise.all(numbers(1000).map((i) => client.get(`p${i}`)));
  assert.deepEqual(got, numbers(1000).map((i) => `v${i}`));
  let batch = client.multi();
  numbers(1000).forEach((i) => { batch = batch.get(`p${999 - i}`); });
  assert.deepEqual(await batch.execAsPipeline(), numbers(1000).map((i) => `v${999 - i}`));
  const found = new Set();
  for await (const keys of client.scanIterator({ MATCH: 'p*', COUNT: 100 })) {
    keys.forEach((key) => found.add(key));
  }
  assert.equal(found.size, 1000);
}

async function connections(RESP) {
  const clients = await Promise.all(numbers(100).map(() => connect(RESP)));
  await Promise.all(clients.map(async (client, c) => {
    for (const i of numbers(20)) {
      await client.set(`c${c}:${i}`, `${c} ${i}`);
      assert.equal(await clients[(c + 1) % 100].get(`c${c}:${i}`), `${c} ${i}`);
    }
  }));
  clients.forEach((client) => client.destroy());
}

async function errors(client) {
  await assert.rejects(client.sendCommand(['NOSUCH']), ErrorReply);
  await assert.rejects(client.sendCommand(['GET']), ErrorReply);
  assert.equal(await client.ping(), 'PONG');
}

async function abilitiesOf(client) {
  const set = () => client.multi().set('t', '1').get('t').exec();
  const expire = () => client.set('e', '1', { PX: 50 });
  const increase = () => client.incr('n');
  if (abilities.has('transactions')) assert.deepEqual(await set(), ['OK', '1']);
  else await assert.rejects(set());
  if (abilities.has('expiry')) {
    await expire();
    await new Promise((done) => setTimeout(done, 100));
    assert.equal(await client.get('e'), null);
  } else await assert.rejects(expire(), ErrorReply);
  if (abilities.has('incr')) {
    await Promise.all(numbers(100).map(increase));
    assert.equal(await client.get('n'), '100');
  } else await assert.rejects(increase(), ErrorReply);
}

async function crash(client) {
  const restarted = promisify(exec)(process.env.JUDGE_RESTART).then(() => true);
  const acknowledged = [];
  let failed = 0, after = 0, done = false;
  restarted.finally(() => { done = true; });
  for (let i = 0; after < 200; ++i) {
    const ok = await client.set(`k${i}`, `${i}`).then(() => true, () => false);
    if (ok) acknowledged.push(i); else ++failed;
    if (ok && done) ++after;
    assert.ok(i < 1e6, 'the client does not reconnect');
  }
  await restarted;
  for (const i of acknowledged) assert.equal(await client.get(`k${i}`), `${i}`, `lost write ${i}`);
  console.log(`${acknowledged.length} acknowledged writes kept, ${failed} failed`);
}

for (const RESP of [2, 3]) {
  const client = await connect(RESP);
  await client.flushAll();
  for (const part of [strings, values, pipelines, errors, abilitiesOf, crash]) {
    console.log(`RESP${RESP} ${part.name}`);
    await part(client);
  }
  console.log(`RESP${RESP} connections`);
  await connections(RESP);
  client.destroy();
}
