import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { fullPathOf } from '../../../access/rules.js'
import type { Stage } from '../../../git/types.js'
import { oneOf, opt, orDefault, str } from '../../../http/params.js'
import {
  type ConflictedFile,
  loadConflicts,
  mayResolveConflicts,
  resolveConflicts,
  TAKES,
  type Take,
} from '../../../services/issuables/merge-requests/merging/conflicts.js'
import { sourceOf } from '../../../services/issuables/merge-requests/reading/load.js'
import { FormFaults, FormTag, Hidden, Submit, TextField, typed } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { form, page, Redirect } from '../../page.js'
import { AT, addressOf, read } from './address.js'
import { RequestHead } from './head.js'
import { MergeCommands } from './merge-commands.js'

const lines = (take: Take, branch: string): [Take, ComponentChildren] => [
  take,
  <Phrase text="Merge both, with the lines of {branch} where both have changed the same" branch={<code>{branch}</code>} />,
]

const whole = (take: Take, branch: string, stage: Stage | null): [Take, ComponentChildren] => [
  take,
  stage ? (
    <Phrase text="Use the whole file of {branch}" branch={<code>{branch}</code>} />
  ) : (
    <Phrase text="Delete the file, as {branch} does" branch={<code>{branch}</code>} />
  ),
]

const solution = z.object({
  head: str(),
  start: str(),
  message: orDefault(str(), ''),
  files: z.record(z.string(), z.object({ path: str(), take: oneOf(TAKES), content: opt(str()) })),
})

/** The conflicts of a merge request: a side is taken, lines are merged, or the text is edited (WB-110). */
export const conflictsPage = page({
  at: `${AT}/conflicts`,
  access: read,
  async show({ ctx, caller, subject, view }) {
    const { request } = subject
    const source = await sourceOf(ctx, caller, subject, request)
    const { iid, state, source_branch, target_branch } = request
    const title = `${t('Conflicts of !{iid}', { iid })} · ${fullPathOf(subject.project)}`
    if (state === 'opened' && !(await mayResolveConflicts(ctx, caller, subject)))
      return {
        title,
        body: (
          <ProjectLayout view={view} subject={subject} tab="merge_requests">
            <RequestHead view={view} subject={subject} source={source} tab="/conflicts" />
            <h2>{t('Resolve conflicts')}</h2>
            <p class="flash alert">
              <Phrase
                text="You cannot resolve conflicts here: {reason} Who may can do it here, or by commands:"
                reason={
                  subject.may('download_code') ? (
                    <>
                      <Phrase text="you may not push to {sourceBranch}" sourceBranch={<code>{source_branch}</code>} />
                      {request.source_project_id !== request.project_id && ` ${t('of the source project')}`}.
                    </>
                  ) : (
                    t('you may not read the code of this project.')
                  )
                }
              />
            </p>
            <MergeCommands view={view} subject={subject} />
          </ProjectLayout>
        ),
      }
    const found = await loadConflicts(ctx, caller, subject)
    if (!found) return new Redirect(addressOf(subject), { notice: t('There are no conflicts.') })
    // people know the branches by their names
    const named = (text: string) =>
      text.replaceAll(`<<<<<<< ${found.head}`, `<<<<<<< ${source_branch}`).replaceAll(`>>>>>>> ${found.start}`, `>>>>>>> ${target_branch}`)
    const choicesOf = ({ ours, theirs, text }: ConflictedFile): [Take, ComponentChildren][] => [
      ...(text === null ? [] : [lines('our_lines', source_branch), lines('their_lines', target_branch)]),
      whole('ours', source_branch, ours),
      whole('theirs', target_branch, theirs),
      ...(text === null ? [] : ([['edit', t('Use the text below')]] as [Take, string][])),
    ]
    const f = fieldsOf(view, solution)
    return {
      title,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <RequestHead view={view} subject={subject} source={source} tab="/conflicts" />
          <h2>{t('Resolve conflicts')}</h2>
          {found.others.length > 0 && (
            <div class="flash alert">
              <p>{t('These files can only be resolved by commands: they were renamed differently, or one branch has a folder in their place.')}</p>
              <ul>
                {found.others.slice(0, 50).map((path) => (
                  <li key={path}>
                    <code>{path}</code>
                  </li>
                ))}
              </ul>
              <MergeCommands view={view} subject={subject} />
            </div>
          )}
          {found.others.length === 0 && (
            <FormTag view={view} action={`${addressOf(subject)}/resolve_conflicts`}>
              <FormFaults view={view} />
              <Hidden {...f.head} value={found.head} />
              <Hidden {...f.start} value={found.start} />
              {found.files.map((file, i) => {
                const { path } = file
                const text = file.text === null ? null : named(file.text)
                const of = f.files(`f${i}`)
                const taken = typed(view, of.take.name)
                return (
                  <fieldset key={path} class="box conflict">
                    <legend class="hidden">{path}</legend>
                    <div class="head">
                      <code>{path}</code>
                    </div>
                    <div class="note">
                      <Hidden {...of.path} value={path} />
                      {choicesOf(file).map(([value, label]) => (
                        <div class="check" key={value}>
                          <input type="radio" id={`take_${i}_${value}`} name={of.take.name} value={value} checked={taken === value} required />
                          <label for={`take_${i}_${value}`}>{label}</label>
                        </div>
                      ))}
                      {text !== null && (
                        <TextField
                          {...of.content}
                          within={`file_${i}`}
                          label={t('Text')}
                          value={text}
                          rows={Math.min(24, text.split('\n', 24).length + 1)}
                          class="code"
                          spellcheck={false}
                        />
                      )}
                    </div>
                  </fieldset>
                )
              })}
              <TextField {...f.message} label={t('Commit message')} rows={2} value={`Merge branch '${target_branch}' into '${source_branch}'`} />
              <Submit label={t('Commit to {sourceBranch}', { sourceBranch: source_branch })} />
            </FormTag>
          )}
        </ProjectLayout>
      ),
    }
  },
})

export const conflictsForm = form({
  at: `${AT}/resolve_conflicts`,
  access: read,
  input: solution,
  on: conflictsPage,
  async submit({ ctx, caller, subject, input: { files, ...given } }) {
    await resolveConflicts(ctx, caller, subject, { ...given, files: Object.values(files) })
    return new Redirect(addressOf(subject), { notice: t('Conflicts resolved.') })
  },
})
