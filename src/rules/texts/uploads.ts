/** The address of an upload within its project, and the Markdown that links it, or embeds it if browsers show it. */
export function textOfUpload(
  { secret, filename }: { secret: string; filename: string },
  shown: boolean,
): { alt: string; url: string; markdown: string } {
  const alt = shown ? filename.replace(/\.[^.]*$/, '') : filename
  const url = `/uploads/${secret}/${filename}`
  return { alt, url, markdown: `${shown ? '!' : ''}[${alt}](${url})` }
}
