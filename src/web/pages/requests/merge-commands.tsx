import { fullPathOf } from '../../../access/rules.js'
import type { HeadProps } from './head.js'
import { quoted } from './shell.js'

/** Resolves conflicts in a clone of the source project. */
export function MergeCommands({ view, subject, unrelated = false }: Pick<HeadProps, 'view' | 'subject'> & { unrelated?: boolean }) {
  const { request, project } = subject
  const [source, target] = [request.source_branch, request.target_branch].map(quoted)
  const command = unrelated ? 'git merge --allow-unrelated-histories' : 'git merge'
  const merge =
    request.source_project_id === request.project_id
      ? `${command} origin/${target}`
      : `git fetch ${quoted(view.links.http(fullPathOf(project)))} ${target}\n${command} FETCH_HEAD`
  return (
    <pre class="plain">
      {`git fetch origin\ngit switch ${source}\n${merge}\n# resolve the conflicts in the files that git names\ngit add --all\ngit commit\ngit push origin ${source}`}
    </pre>
  )
}
