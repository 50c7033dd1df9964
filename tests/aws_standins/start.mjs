// Starts one stand-in for a service of AWS on a free port of this machine, and prints its address.
//
//   node start.mjs dynalite | fauxqs | local-aws-sqs | s3rver FOLDER | metadata

const [name, folder] = process.argv.slice(2);
const host = '127.0.0.1';

async function dynalite() {
  const { default: make } = await import('dynalite');
  const server = make({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  return new Promise((then) => server.listen(0, host, () => then(server.address().port)));
}

// Its own starter listens on every address.
async function fauxqs() {
  const { buildApp } = await import('fauxqs');
  const app = buildApp({ logger: false });
  return new URL(await app.listen({ port: 0, host })).port;
}

async function localAwsSqs() {
  const { createServer } = await import('node:net');
  const free = await new Promise((then) => {
    const probe = createServer().listen(0, host, () => {
      const { port } = probe.address();
      probe.close(() => then(port));
    });
  });
  const { createSqsServer } = await import('local-aws-sqs');
  await createSqsServer({ port: free, hostname: host });
  return free;
}

async function s3rver() {
  const { default: S3rver } = await import('s3rver');
  const { port } = await new S3rver({ port: 0, address: host, silent: true, directory: folder }).run();
  return port;
}

// An instance's metadata (version 2) and a container's endpoint, with the keys of the environment.
async function metadata() {
  const { createServer } = await import('node:http');
  const role = '/latest/meta-data/iam/security-credentials/';
  const keys = {
    AccessKeyId: process.env.AWS_ACCESS_KEY_ID,
    SecretAccessKey: process.env.AWS_SECRET_ACCESS_KEY,
    Token: 'token-of-a-session',
    Expiration: new Date(Date.now() + 60_000).toISOString(),
  };
  const server = createServer((request, reply) => {
    const { method, url, headers } = request;
    const known = headers['x-aws-ec2-metadata-token'] === 'metadata-token';
    const answer =
      method === 'PUT' && url === '/latest/api/token' && headers['x-aws-ec2-metadata-token-ttl-seconds']
        ? 'metadata-token'
        : method === 'GET' && url === role && known
          ? 'the-role\n'
          : method === 'GET' && url === `${role}the-role` && known
            ? JSON.stringify(keys)
            : method === 'GET' && url === '/container' && headers.authorization === 'container-token'
              ? JSON.stringify(keys)
              : undefined;
    reply.writeHead(answer === undefined ? 403 : 200).end(answer);
  });
  return new Promise((then) => server.listen(0, host, () => then(server.address().port)));
}

const starters = { dynalite, fauxqs, 'local-aws-sqs': localAwsSqs, s3rver, metadata };
console.log(`http://${host}:${await starters[name]()}`);
