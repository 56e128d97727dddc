import { describe, expect, it } from 'vitest'
import { Slices } from '../../src/lib/async/slices.js'
import { takeCommands } from '../../src/rules/quick-actions.js'

const slices = new Slices()
const take = (text: string) => takeCommands(slices, text, new Set(['close', 'label', 'title']))
/** The text that is left, and the commands as `name argument`. */
const short = async (text: string) => {
  const { text: left, commands } = await take(text)
  return [left, ...commands.map(({ name, argument }) => `${name} ${argument}`.trim())]
}

describe('takeCommands', () => {
  it.each<[string, string[]]>([
    ['/close', ['', 'close']],
    ['/CLOSE\n', ['', 'close']],
    ['  /close', ['  /close']],
    ['See\n/close\nand more\n', ['See\nand more', 'close']],
    ['/close\n\n/label ~a ~"b c"  \n', ['', 'close', 'label ~a ~"b c"']],
    ['/title  A /close  \r\nText\r\n', ['Text', 'title A /close']],
    ['Say /close', ['Say /close']],
    ['/closed\n/close/x\n/unknown', ['/closed\n/close/x\n/unknown']],
    ['Text without a command  \n\n', ['Text without a command  \n\n']],
    ['/shrug', ['¯\\＿(ツ)＿/¯']],
    ['/shrug Well\n/close', ['Well ¯\\＿(ツ)＿/¯', 'close']],
    ['/TABLEFLIP no', ['no (╯°□°)╯︵ ┻━┻']],
  ])('cuts the lines with commands, keeps the others (QA-1): %j', async (text, expected) => {
    expect(await short(text)).toEqual(expected)
  })

  it.each([
    ['fenced code', '```\n/close\n```'],
    ['fenced code that never ends', '~~~ ruby\n/close'],
    ['indented code', '    /close'],
    ['inline code', 'a `b\n/close\nc` d'],
    ['a block quote', '> /close'],
    ['a block between >>>', '>>>\n/close\n>>>'],
    ['an HTML comment', '<!-- \n/close\n-->'],
    ['an HTML block', '<details>\n/close\n</details>'],
  ])('leaves commands in %s alone, and takes those after it (QA-1)', async (_, hidden) => {
    expect(await short(hidden)).toEqual([hidden])
    if (hidden.startsWith('~~~')) return
    expect(await short(`${hidden}\n\n/close`)).toEqual([hidden, 'close'])
  })

  it.each([
    ['>>>\n/close', '>>>'],
    ['<br>\n/close', '<br>'],
    ['<!-- \n/close', '<!--'],
    ['a `b\n\n/close', 'a `b'],
  ])('takes the command if what hides it never ends (QA-1): %j', async (text, left) => {
    expect(await short(text)).toEqual([left, 'close'])
  })

  it.each<[string, number]>([
    ['/close\n', 40_001],
    ['<!-- ', 1],
    ['>>>\n/close\n', 20_001],
    ['<a>\n/label x\n', 40_001],
    ['`/close\n', 1],
  ])('takes linear time for many %j (SEC-145)', async (part, commands) => {
    expect((await take(`${part.repeat(40_000)}\n/close`)).commands).toHaveLength(commands)
  })
})
