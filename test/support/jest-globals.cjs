// Runs a file of tests that use jest's globals, one after the other, like a worker of jest. jest itself is not a
// dependency: it has some 270 packages, one of which may download a program when it is installed.
const { deepStrictEqual } = require('node:assert')
const { join, resolve } = require('node:path')

const hooks = { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] }
const tests = []
for (const [name, list] of Object.entries(hooks)) globalThis[name] = (work) => list.push(work)
globalThis.test = (name, work) => tests.push({ name, work })
globalThis.expect = (value) => ({ toBe: (other) => deepStrictEqual(value, other), toEqual: (other) => deepStrictEqual(value, other) })

async function main(folder, file) {
  const config = require(join(folder, 'jest.config.cjs'))
  await require(resolve(folder, config.globalSetup))()
  process.env.JEST_WORKER_ID = '1'
  require(join(folder, file))
  for (const work of hooks.beforeAll) await work()
  for (const { name, work } of tests) {
    for (const before of hooks.beforeEach) await before()
    await work()
    for (const after of hooks.afterEach) await after()
    process.stdout.write(`passed: ${name}\n`)
  }
  for (const work of hooks.afterAll) await work()
  await require(resolve(folder, config.globalTeardown))()
}

main(resolve(process.argv[2]), process.argv[3]).catch((error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exitCode = 1
})
