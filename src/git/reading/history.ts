import { aheadBehind, lastCommits, mergeBase, mergedInto, refsContaining, uniqueMergeBase } from '../history/ancestry.js'
import { contributors } from '../history/contributors.js'
import { countNew, range, readLog } from '../history/log.js'
import { blame } from '../search/blame.js'
import { filesWith, grep, searchLog } from '../search/search.js'
import type { GitRepository } from '../types.js'
import type { Guard } from './guard.js'
import type { Source } from './source.js'

export type HistoryReader = Pick<
  GitRepository,
  | 'log'
  | 'countNew'
  | 'range'
  | 'lastCommits'
  | 'mergeBase'
  | 'uniqueMergeBase'
  | 'isAncestor'
  | 'merged'
  | 'refsContaining'
  | 'aheadBehind'
  | 'contributors'
>

export const historyReader = ({ history, refs }: Source, guarded: Guard): HistoryReader => ({
  log: (options) => guarded({ commits: [], total: 0 }, () => readLog(history(), options)),
  countNew: (from, to, limit) => guarded(0, () => countNew(history(), from, to, limit)),
  range: (from, to, limit) => guarded({ oids: [], total: 0 }, () => range(history(), from, to, limit)),
  lastCommits: (from, paths) =>
    guarded(
      paths.map(() => null),
      () => lastCommits(history(), from, paths),
    ),
  mergeBase: (...oids) => guarded(null, () => mergeBase(history(), oids)),
  uniqueMergeBase: (ours, theirs) => guarded(null, () => uniqueMergeBase(history(), ours, theirs)),
  isAncestor: async (ancestor, descendant) => (await guarded([false], () => mergedInto(history(), [ancestor], descendant)))[0] ?? false,
  merged: (heads, into) =>
    guarded(
      heads.map(() => false),
      () => mergedInto(history(), heads, into),
    ),
  refsContaining: (oid, prefix) => guarded([], () => refsContaining(history(), refs, oid, prefix)),
  aheadBehind: (a, b) => guarded({ ahead: 0, behind: 0 }, () => aheadBehind(history(), a, b)),
  contributors: (head) => guarded([], () => contributors(history(), head)),
})

export type SearchReader = Pick<GitRepository, 'searchLog' | 'grep' | 'blame' | 'filesWith'>

export const searchReader = ({ searches }: Source, guarded: Guard): SearchReader => ({
  searchLog: (from, text, options) => guarded({ oids: [], truncated: false }, () => searchLog(searches(), from, text, options)),
  grep: (oid, text, options) => guarded({ chunks: [], truncated: false }, () => grep(searches(), oid, text, options)),
  blame: (oid, path, options) => guarded({ groups: [], truncated: false }, () => blame(searches(), oid, path, options)),
  filesWith: (oid, text, options) => guarded([], () => filesWith(searches(), oid, text, options)),
})
