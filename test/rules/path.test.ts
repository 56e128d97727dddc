import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupNameFaults, lengthOf, namespacePathFaults, pathFromName, projectNameFaults, projectPathFaults } from '../../src/rules/path.js'

it.each(['', 'abc', 'é😀', '😀'.repeat(5)])('counts the characters of %j as users do', (text) => expect(lengthOf(text)).toBe([...text].length))

it('counts the characters of a body of 8 MiB without a list of them, for which there is no room here (SEC-145)', () => {
  // an array cannot have so many elements, and a string can have so many characters
  expect(lengthOf('a'.repeat(2 ** 28))).toBe(2 ** 28)
})

describe('AC-17 paths of users and groups', () => {
  it.each(['a', 'a.b', '_x', 'A-1', '.hidden', 'x'.repeat(255)])('takes %s', (path) => expect(namespacePathFaults(path, 'top')).toEqual([]))
  it.each(['', '-a', 'a.', 'a.git', 'A.GIT', 'a.atom', 'a b', 'a/b', 'ä', 'a\nb', 'a\n', '.', '..', 'x'.repeat(256)])('GR-24 refuses %j', (path) => {
    expect(namespacePathFaults(path, 'top')).not.toEqual([])
  })
})

describe('AC-18 reserved names', () => {
  it.each(['api', 'API', 'admin', 'oauth', '-', '.well-known', 'u'])('GR-25 refuses %s at the top', (path) => {
    expect(namespacePathFaults(path, 'top')).toContain(`${path} is a reserved name`)
  })
  it.each(['tree', 'Blob', 'new', 'wikis'])('GR-25 refuses %s below a parent, and takes it at the top', (path) => {
    expect(namespacePathFaults(path, 'below')).toEqual([`${path} is a reserved name`])
    expect(projectPathFaults(path)).toEqual([`${path} is a reserved name`])
    expect(namespacePathFaults(path, 'top')).toEqual([])
  })
  it('refuses info for projects only', () => {
    expect(projectPathFaults('info')).toEqual(['info is a reserved name'])
    expect(namespacePathFaults('info', 'below')).toEqual([])
  })
})

describe('paths of projects', () => {
  it.each(['a', 'a.', 'v1.0', '_a'])('AC-17 takes %s', (path) => expect(projectPathFaults(path)).toEqual([]))
  it.each(['', '-a', 'a.git', 'a.atom', 'a b', '..', '.', 'a\n'])('AC-17 refuses %j', (path) => expect(projectPathFaults(path)).not.toEqual([]))
})

describe('AC-19 names', () => {
  it.each(['a', '9 lives', '_x', 'Größe', '🚀 launch', 'a-b.c', '日本'])('takes %s for a project', (name) =>
    expect(projectNameFaults(name)).toEqual([]),
  )
  it.each(['', '  ', '-a', '.a', 'a/b', 'a\nb', 'a:b', 'x'.repeat(256)])('refuses %j for a project', (name) =>
    expect(projectNameFaults(name)).not.toEqual([]),
  )
  it.each(['a', 'A – B', 'Größe', '.x'])('GR-27 takes %s for a group', (name) => expect(groupNameFaults(name)).toEqual([]))
  it.each(['', ' ', 'a/b', 'a&b', '🚀', 'x'.repeat(256)])('GR-27 refuses %j for a group', (name) => expect(groupNameFaults(name)).not.toEqual([]))
})

describe('PR-15 a path made of a name', () => {
  it.each([
    ['My Project', 'my-project'],
    ['Größe: 9!', 'gr-e-9-'],
    ['a__b.c', 'a__b.c'],
  ])('%s becomes %s', (name, path) => expect(pathFromName(name)).toBe(path))

  it('holds only characters of paths and never begins with a dash', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (name) => /^(?:[a-z0-9_.][a-z0-9_.-]*)?$/.test(pathFromName(name))))
  })
})
