import { z } from 'zod'
import type { BlamedLines } from '../../services/repository/blame.js'
import { gitDate } from './commit.js'

/** Consecutive lines of a file that were last changed by one commit (RF-4). */
export const Blame = z
  .strictObject({
    commit: z.strictObject({
      id: z.string(),
      parent_ids: z.array(z.string()),
      message: z.string(),
      authored_date: z.iso.datetime(),
      author_name: z.string(),
      author_email: z.string(),
      committed_date: z.iso.datetime(),
      committer_name: z.string(),
      committer_email: z.string(),
    }),
    lines: z.array(z.string()),
  })
  .meta({ id: 'Blame', description: 'Lines of a file and the commit they come from.' })

export const presentBlame = ({ commit, lines }: BlamedLines): z.infer<typeof Blame> => ({
  commit: {
    id: commit.oid,
    parent_ids: commit.parents,
    message: commit.message,
    authored_date: gitDate(commit.author.seconds),
    author_name: commit.author.name,
    author_email: commit.author.email,
    committed_date: gitDate(commit.committer.seconds),
    committer_name: commit.committer.name,
    committer_email: commit.committer.email,
  },
  lines,
})
