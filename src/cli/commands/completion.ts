import { Argument, type Command } from 'commander'
import { print } from '../output.js'

const SHELLS = ['bash', 'zsh'] as const
type Shell = (typeof SHELLS)[number]

const USAGE = `
  bash: source <(roost completion bash)
  zsh:  source <(roost completion zsh)`

export function completionCommand(program: Command): void {
  program
    .command('completion')
    .summary('print a script for completion in bash or zsh')
    .description('Print a script that completes commands and options on Tab.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', USAGE)
    .action((shell: Shell) => print(SCRIPTS[shell](choicesIn(program))))
}

/** The completions after the words of a command. */
interface Choice {
  after: string
  words: string[]
}

/** Longer commands come first, because the first matching case applies. */
function choicesIn(command: Command, path: string[] = []): Choice[] {
  const options = command.options.filter(({ hidden }) => !hidden).map(({ long, flags }) => long ?? flags)
  const values = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  const words = [...command.commands.map((inner) => inner.name()), ...values, ...options, '--help']
  return [...command.commands.flatMap((inner) => choicesIn(inner, [...path, inner.name()])), { after: path.join(' '), words }]
}

const cases = (choices: Choice[]) => choices.map(({ after, words }) => `    "${after}"*) words="${words.join(' ')}" ;;\n`).join('')

const SCRIPTS: Record<Shell, (choices: Choice[]) => string> = {
  bash: (choices) => `_roost() {
  local words
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1}" in
${cases(choices)}  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _roost roost
`,
  zsh: (choices) => `_roost() {
  local words_before="\${(j: :)words[2,CURRENT-1]}" words
  case "$words_before" in
${cases(choices)}  esac
  compadd -- \${=words}
  _files
}
compdef _roost roost
`,
}
