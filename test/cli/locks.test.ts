import { expect, it } from 'vitest'
import { Locks } from '../../src/cli/workers/locks.js'

/** Locks, and a list of who has been given which, in order. */
function watched() {
  const locks = new Locks()
  const granted: string[] = []
  const lock = (owner: number, id: number, key: string) => locks.lock({ owner, id, key, grant: () => granted.push(`${owner}.${id} ${key}`) })
  return { locks, granted, lock }
}

it('each key is given in the order of asking, and no key waits for another (SEC-196)', () => {
  const { locks, granted, lock } = watched()
  lock(1, 1, 'a')
  lock(2, 1, 'a')
  lock(1, 2, 'a')
  lock(2, 2, 'b')
  expect(granted).toEqual(['1.1 a', '2.2 b'])
  locks.unlock(1, 1)
  expect(granted.slice(2)).toEqual(['2.1 a'])
  locks.unlock(1, 1)
  locks.unlock(7, 7)
  expect(granted).toHaveLength(3)
  locks.unlock(2, 1)
  locks.unlock(1, 2)
  lock(2, 3, 'a')
  expect(granted.slice(3)).toEqual(['1.2 a', '2.3 a'])
})

it('who waits no longer is passed over, and an owner that has ended gives back all it had (SEC-196)', () => {
  const { locks, granted, lock } = watched()
  lock(1, 1, 'a')
  lock(1, 2, 'b')
  lock(2, 1, 'a')
  lock(3, 1, 'a')
  lock(1, 3, 'a')
  lock(3, 2, 'b')
  locks.unlock(2, 1)
  locks.drop(1)
  expect(granted).toEqual(['1.1 a', '1.2 b', '3.1 a', '3.2 b'])
  locks.unlock(3, 1)
  lock(2, 2, 'a')
  expect(granted.slice(4)).toEqual(['2.2 a'])
})
