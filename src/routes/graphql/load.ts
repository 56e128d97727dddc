import { setImmediate } from 'node:timers/promises'

/** The parts of the library, each of which takes some ten milliseconds of the event loop. */
const PARTS = [
  () => import('graphql/language/index.js'),
  () => import('graphql/type/index.js'),
  () => import('graphql/execution/index.js'),
  () => import('graphql/validation/index.js'),
  () => import('graphql/utilities/index.js'),
]

async function load() {
  for (const part of PARTS) {
    await part()
    await setImmediate()
  }
  const { run, schema } = await import('./engine.js')
  await setImmediate()
  schema()
  return run
}

let loaded: ReturnType<typeof load> | undefined

/** The function that runs queries, loaded part by part when the first one comes: many services are never asked. */
export function loadRun(): ReturnType<typeof load> {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined
    throw error
  })
  return loaded
}
