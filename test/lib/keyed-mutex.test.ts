import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { KeyedMutex } from '../../src/lib/async/keyed-mutex.js'

it('runs work of one key one after the other, of two keys concurrently, and continues after a failure', async () => {
  const mutex = new KeyedMutex()
  const seen: string[] = []
  const work =
    (name: string, fail = false) =>
    async () => {
      seen.push(`${name} begins`)
      for (let turn = 0; turn < 5; turn++) await nextTurn()
      seen.push(`${name} ends`)
      if (fail) throw new Error(name)
    }
  const first = mutex.run('key', work('1', true))
  await Promise.all([expect(first).rejects.toThrow('1'), mutex.run('key', work('2')), mutex.run('other', work('3'))])
  expect(seen.filter((line) => !line.startsWith('3'))).toEqual(['1 begins', '1 ends', '2 begins', '2 ends'])
  expect(seen.indexOf('3 begins')).toBeLessThan(seen.indexOf('1 ends'))
})
