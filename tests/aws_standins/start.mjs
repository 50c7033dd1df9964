// Starts one stand-in for a service of AWS on a free port of this machine, and prints its address.
//
//   node start.mjs dynalite | fauxqs | local-aws-sqs | s3rver FOLDER | metadata | signatures URL

const [name, where] = process.argv.slice(2);
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
  const { port } = await new S3rver({ port: 0, address: host, silent: true, directory: where }).run();
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

// A proxy in front of URL that lets pass what AWS's own library would sign in the same way.
async function signatures() {
  const { createServer, request: ask } = await import('node:http');
  const { createHash, createHmac } = await import('node:crypto');
  const { SignatureV4 } = await import('@smithy/signature-v4');
  class Sha256 {
    constructor(key) {
      this.hash = key ? createHmac('sha256', key) : createHash('sha256');
    }
    update(bytes) {
      this.hash.update(bytes);
    }
    async digest() {
      return new Uint8Array(this.hash.digest());
    }
  }
  const credentials = {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID,
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY,
  };
  const expected = async ({ method, url, headers }, body, said) => {
    const [, region, service, signed] = said;
    const signer = new SignatureV4({
      credentials,
      region,
      service,
      sha256: Sha256,
      uriEscapePath: service !== 's3',
      applyChecksum: false,
    });
    const { pathname, searchParams } = new URL(url, `http://${host}`);
    const kept = signed.split(';');
    const request = {
      method,
      protocol: 'http:',
      hostname: host,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: Object.fromEntries(kept.map((header) => [header, headers[header]])),
      body,
    };
    const [, year, month, day, hour, minute, second] = /^(....)(..)(..)T(..)(..)(..)Z$/.exec(headers['x-amz-date']);
    const signingDate = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    const { headers: made } = await signer.sign(request, { signingDate, signableHeaders: new Set(kept) });
    return made.authorization;
  };
  const form = /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(.+)$/;
  const bare = (text) => text.replaceAll(' ', '');
  const server = createServer(async (request, reply) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const { method, url, headers } = request;
    const own = headers.authorization ?? '';
    const said = form.exec(own);
    const theirs = said && (await expected(request, body, said));
    if (!said || bare(theirs) !== bare(own)) {
      console.error(`${method} ${url}: ${own} is not ${theirs}`);
      reply
        .writeHead(403)
        .end(
          headers['x-amz-target']
            ? '{"__type": "InvalidSignatureException", "message": "other"}'
            : '<Error><Code>SignatureDoesNotMatch</Code><Message>other</Message></Error>',
        );
      return;
    }
    console.error(`${said[2]} ${method}`);
    const onward = ask(new URL(url, where), { method, headers }, (answer) => {
      reply.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(reply);
    });
    onward.on('error', () => reply.destroy());
    onward.end(body);
  });
  return new Promise((then) => server.listen(0, host, () => then(server.address().port)));
}

const starters = { dynalite, fauxqs, 'local-aws-sqs': localAwsSqs, s3rver, metadata, signatures };
console.log(`http://${host}:${await starters[name]()}`);
