import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupNameFaults, lengthOf, namespacePathFaults, pathFromName, projectNameFaults, projectPathFaults } from '../../src/rules/path.js'

it.each(['', 'abc', 'é😀', '😀'.repeat(5)])('counts the characters of %j as users do', (text) => expect(lengthOf(text)).toBe([...text].length))

it('counts the characters of a body of 8 MiB without a list of them, for which there is no room here (SEC-145)', () => {
  // an array cannot have so many elements, and a string can have so many characters
  expect(lengthOf('a'.repeat(2 ** 28))).toBe(2 ** 28)
})

describe('paths of users and groups (AC-17)', () => {
  it.each(['a', 'a.b', '_x', 'A-1', '.hidden', 'x'.repeat(255)])('takes %s', (path) => expect(namespacePathFaults(path, 'top')).toEqual([]))
  it.each(['', '-a', 'a.', 'a.git', 'A.GIT', 'a.atom', 'a b', 'a/b', 'ä', 'a\nb', 'a\n', '.', '..', 'x'.repeat(256)])(
    'refuses %j (GR-24)',
    (path) => {
      expect(namespacePathFaults(path, 'top')).not.toEqual([])
    },
  )
})

describe('reserved names (AC-18)', () => {
  it.each(['api', 'API', 'admin', 'oauth', '-', '.well-known', 'u', 'new', 'login', 'v2', 'favicon.png'])('refuses %s at the top (GR-25)', (path) => {
    expect(namespacePathFaults(path, 'top')).toContain(`${path} is a reserved name`)
  })
  it.each(['tree', 'Blob', 'edit', 'wikis'])('refuses %s below a parent, and takes it at the top (GR-25)', (path) => {
    expect(namespacePathFaults(path, 'below')).toEqual([`${path} is a reserved name`])
    expect(projectPathFaults(path)).toEqual([`${path} is a reserved name`])
    expect(namespacePathFaults(path, 'top')).toEqual([])
  })
  it.each(['a.keys', 'a.GPG', 'a.ics', 'a.json', 'a.html'])('refuses %s at the top, where it is the address of something else (GR-24)', (path) => {
    expect(namespacePathFaults(path, 'top')).toEqual(['ends as an address does that is taken'])
    expect(namespacePathFaults(path, 'below')).toEqual([])
  })
  it('refuses info for projects only', () => {
    expect(projectPathFaults('info')).toEqual(['info is a reserved name'])
    expect(namespacePathFaults('info', 'below')).toEqual([])
  })
})

describe('paths of projects', () => {
  it.each(['a', 'a.', 'v1.0', '_a'])('takes %s (AC-17)', (path) => expect(projectPathFaults(path)).toEqual([]))
  it.each(['', '-a', 'a.git', 'a.atom', 'a b', '..', '.', 'a\n'])('refuses %j (AC-17)', (path) => expect(projectPathFaults(path)).not.toEqual([]))
})

describe('names (AC-19)', () => {
  it.each(['a', '9 lives', '_x', 'Größe', '🚀 launch', 'a-b.c', '日本'])('takes %s for a project', (name) =>
    expect(projectNameFaults(name)).toEqual([]),
  )
  it.each(['', '  ', '-a', '.a', 'a/b', 'a\nb', 'a:b', 'x'.repeat(256)])('refuses %j for a project', (name) =>
    expect(projectNameFaults(name)).not.toEqual([]),
  )
  it.each(['a', 'A – B', 'Größe', '.x'])('takes %s for a group (GR-27)', (name) => expect(groupNameFaults(name)).toEqual([]))
  it.each(['', ' ', 'a/b', 'a&b', '🚀', 'x'.repeat(256)])('refuses %j for a group (GR-27)', (name) => expect(groupNameFaults(name)).not.toEqual([]))
})

describe('a path made of a name (PR-15)', () => {
  it.each([
    ['My Project', 'my-project'],
    ['Größe: 9!', 'gr-e-9-'],
    ['a__b.c', 'a__b.c'],
  ])('%s becomes %s', (name, path) => expect(pathFromName(name)).toBe(path))

  it('holds only characters of paths and never begins with a dash', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (name) => /^(?:[a-z0-9_.][a-z0-9_.-]*)?$/.test(pathFromName(name))))
  })
})
