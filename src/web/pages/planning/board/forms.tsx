import { z } from 'zod'
import type { GroupSubject, ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { invalidRecord } from '../../../../failures.js'
import * as documented from '../../../../http/documented.js'
import { oneOf, opt, orDefault, rowId, str } from '../../../../http/params.js'
import {
  type BoardSource,
  changesOfMove,
  createBoard,
  createList,
  deleteBoard,
  deleteList,
  firstBoard,
  getBoard,
  moveList,
  renameBoard,
} from '../../../../services/issuables/boards.js'
import { assignableAmong } from '../../../../services/issuables/issues/attributes.js'
import { updateIssue } from '../../../../services/issuables/issues/update.js'
import { usableMilestone } from '../../../../services/issuables/milestones.js'
import { ActionButton, Field, FormFaults, FormTag, Submit } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { localPath } from '../../../local-path.js'
import { form, page, Redirect } from '../../../page.js'
import { listKeyed, listOfKey, loadBoard } from './load.js'
import { type BoardPlace, ofGroup, ofProject } from './place.js'
import { boardId, groupBoards, projectBoards } from './show.js'

const named = z.object({ name: orDefault(documented.filled({ maxLength: 255 }), '') })
const card = z.object({ board_id: boardId(), issue_iid: rowId(), project: opt(str()), from: orDefault(str(), ''), back: opt(str()) })

const goneList = () => invalidRecord({ base: ['is no list of this board any more'] })

function formsOf<Subject extends ProjectSubject | GroupSubject>(of: BoardPlace<Subject>, { first }: { first: typeof projectBoards.first }) {
  const listAt = (subject: Subject) => `${of.home(subject)}/-/boards`
  /** The board of a form; where there is none yet, what is shown is made one. */
  const stored = async (ctx: Context, source: BoardSource, id: number | undefined) =>
    id === undefined ? firstBoard(ctx, source) : (await getBoard(ctx, source, id)).board.id

  const newBoard = page({
    at: `${of.at}/boards/new`,
    access: of.write,
    async show({ subject, view }) {
      return {
        title: `${t('New board')} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject}>
            <h1>{t('New board')}</h1>
            <FormTag view={view} action={listAt(subject)}>
              <FormFaults view={view} />
              <Field {...fieldsOf(view, named).name} label={t('Name')} autofocus />
              <Submit label={t('Create board')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const boardCreation = form({
    at: `${of.at}/boards`,
    access: of.write,
    input: named,
    on: newBoard,
    async submit({ ctx, subject, input }) {
      const { board } = await createBoard(ctx, of.source(subject), input.name)
      return new Redirect(`${listAt(subject)}/${board.id}`, { notice: t('Board created. Add its lists.') })
    },
  })

  const editBoard = page({
    at: `${of.at}/boards/:board_id/edit`,
    access: of.write,
    input: z.object({ board_id: rowId() }),
    async show({ ctx, subject, input, view }) {
      const { board } = await getBoard(ctx, of.source(subject), input.board_id)
      const at = `${listAt(subject)}/${board.id}`
      return {
        title: `${t('Edit {name}', { name: board.name })} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject}>
            <h1>{t('Edit board')}</h1>
            <FormTag view={view} action={at} method="PUT">
              <FormFaults view={view} />
              <Field {...fieldsOf(view, named).name} label={t('Name')} value={board.name} />
              <p class="row start">
                <Submit label={t('Save changes')} />
                <a href={`${view.links.prefix}${at}`}>{t('Cancel')}</a>
              </p>
            </FormTag>
            <h2>{t('Delete this board')}</h2>
            <p>{t('Its lists go with it; issues stay as they are.')}</p>
            <ActionButton view={view} action={at} method="DELETE" label={t('Delete board')} class="danger" />
          </of.Frame>
        ),
      }
    },
  })

  const boardChange = form({
    at: `${of.at}/boards/:board_id`,
    method: 'PUT',
    access: of.write,
    input: named.extend({ board_id: rowId() }),
    on: editBoard,
    async submit({ ctx, subject, input: { board_id, name } }) {
      await renameBoard(ctx, of.source(subject), board_id, name)
      return new Redirect(`${listAt(subject)}/${board_id}`, { notice: t('Board renamed.') })
    },
  })

  const boardRemoval = form({
    at: `${of.at}/boards/:board_id`,
    method: 'DELETE',
    access: of.write,
    input: z.object({ board_id: rowId() }),
    async submit({ ctx, subject, input }) {
      await deleteBoard(ctx, of.source(subject), input.board_id)
      return new Redirect(listAt(subject), { notice: t('Board deleted.') })
    },
  })

  const listCreation = form({
    at: `${of.at}/boards/lists`,
    access: of.write,
    input: z.object({ board_id: boardId(), list: orDefault(str(), '') }),
    on: first,
    async submit({ ctx, subject, input }) {
      const kind = listOfKey(input.list)
      if (!kind) throw invalidRecord({ base: ['needs something that the list is of'] })
      const source = of.source(subject)
      const board = await stored(ctx, source, input.board_id)
      await createList(ctx, source, board, kind)
      return new Redirect(`${listAt(subject)}/${board}`)
    },
  })

  const listMove = form({
    at: `${of.at}/boards/lists/move`,
    access: of.write,
    input: z.object({ board_id: boardId(), list: orDefault(str(), ''), by: oneOf(['-1', '1']) }),
    on: first,
    async submit({ ctx, subject, input }) {
      const source = of.source(subject)
      const board = await stored(ctx, source, input.board_id)
      const list = await listKeyed(ctx, source, board, input.list)
      if (!list) throw goneList()
      await moveList(ctx, source, board, list.id, list.position + Number(input.by))
      return new Redirect(`${listAt(subject)}/${board}`)
    },
  })

  const listRemoval = form({
    at: `${of.at}/boards/lists/remove`,
    access: of.write,
    input: z.object({ board_id: boardId(), list: orDefault(str(), '') }),
    on: first,
    async submit({ ctx, subject, input }) {
      const source = of.source(subject)
      const board = await stored(ctx, source, input.board_id)
      const list = await listKeyed(ctx, source, board, input.list)
      if (!list) throw goneList()
      await deleteList(ctx, source, board, list.id)
      return new Redirect(`${listAt(subject)}/${board}`)
    },
  })

  const cardPage = page({
    at: `${of.at}/boards/move`,
    access: of.read,
    input: card,
    async show({ ctx, caller, subject, input, view }) {
      const [board, { issue }] = await Promise.all([loadBoard(ctx, of.source(subject), input.board_id), of.issue(ctx, caller, subject, input)])
      const back = localPath(input.back, listAt(subject))
      const fields = { ...input, issue_iid: String(input.issue_iid), board_id: String(input.board_id ?? ''), back }
      return {
        title: `${t('Move #{iid}', { iid: issue.iid })} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject}>
            <h1>
              <Phrase text="Move #{iid} {title}" iid={issue.iid} title={issue.title} />
            </h1>
            <FormFaults view={view} />
            <p>{t('Choose the list:')}</p>
            <FormTag view={view} action={`${listAt(subject)}/move`}>
              {Object.entries(fields).map(([name, value]) => (
                <input type="hidden" key={name} name={name} value={value} />
              ))}
              <p class="toolbar">
                {board.lists.map(
                  ({ key, title }) =>
                    key !== input.from && (
                      <button type="submit" key={key} name="to" value={key}>
                        {title}
                      </button>
                    ),
                )}
                <a href={`${view.links.prefix}${back}`}>{t('Cancel')}</a>
              </p>
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const cardMove = form({
    at: `${of.at}/boards/move`,
    access: of.read,
    input: card.extend({ to: orDefault(str(), '') }),
    on: cardPage,
    async submit({ ctx, caller, subject, input }) {
      const { lists } = await loadBoard(ctx, of.source(subject), input.board_id)
      const issue = await of.issue(ctx, caller, subject, input)
      const kindOf = (key: string) => lists.find((list) => list.key === key)?.kind
      const to = kindOf(input.to)
      if (!to) throw goneList()
      if ('milestone' in to && !(await usableMilestone(ctx.db.write, issue, to.milestone.id)))
        throw invalidRecord({ milestone: ['cannot be set in the project of the issue'] })
      if ('user' in to && (await assignableAmong(ctx.db.write, issue, [to.user.id])).length === 0)
        throw invalidRecord({ assignee: ['cannot see the issue'] })
      await updateIssue(ctx, caller, issue, changesOfMove(kindOf(input.from) ?? { state: 'opened' }, to, issue.issue.assignee_ids))
      return new Redirect(localPath(input.back, listAt(subject)))
    },
  })

  return [newBoard, boardCreation, editBoard, boardChange, boardRemoval, listCreation, listMove, listRemoval, cardPage, cardMove]
}

/** The boards of projects and of groups (WB-133). */
export const boardPages = [
  ...formsOf(ofProject, projectBoards),
  projectBoards.first,
  projectBoards.one,
  ...formsOf(ofGroup, groupBoards),
  groupBoards.first,
  groupBoards.one,
]
