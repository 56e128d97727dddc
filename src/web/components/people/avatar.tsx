import type { Upload } from '../../../http/uploads.js'
import { avatarUrl } from '../../../rules/avatar-url.js'
import type { Control } from '../../fields.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { Field } from '../form.js'

type Size = 'small' | 'large' | 'huge'
const PIXELS = { small: 20, large: 28, huge: 64 }

interface AvatarProps {
  view: PageView
  user: { id: number; name: string; avatar: string | null }
  /** 24 pixels by default; small ones stand in a line of text. */
  size?: Size
}

/** The picture of a user, or their initials; the name stands beside it or in a label around it. */
export function Avatar({ view, user, size }: AvatarProps) {
  const { id, name, avatar } = user
  const look = size ? `avatar ${size}` : 'avatar'
  const pixels = size ? PIXELS[size] : 24
  // an address of the avatar service only where there is such a service
  const hasPicture = avatar !== null && (!avatar.startsWith('@') || view.avatarService !== null)
  if (!hasPicture) return <Initials class={look} id={id} text={initialsOf(name)} />
  const src = avatarUrl(user, { base: view.links.prefix, service: view.avatarService })
  return <img class={look} src={src} alt="" width={pixels} height={pixels} loading="lazy" />
}

/** The picture of a project, or its first letter. */
export function ProjectAvatar({ view, project }: { view: PageView; project: { id: number; name: string; avatar: string | null } }) {
  const { id, name, avatar } = project
  if (!avatar) return <Initials class="avatar project" id={id} text={firstOf(name)} />
  const src = `${view.links.prefix}/uploads/-/system/project/avatar/${id}/${encodeURIComponent(avatar)}`
  return <img class="avatar project" src={src} alt="" width={32} height={32} loading="lazy" />
}

const TINTS = 8

const Initials = ({ class: look, id, text }: { class: string; id: number; text: string }) => (
  <span class={`${look} tint-${id % TINTS}`} data-initials={text} aria-hidden="true" />
)

const firstOf = (word: string) => (/[\p{L}\p{N}]/u.exec(word)?.[0] ?? '?').toUpperCase()

/** The first letters of the first and the last word of a name. */
export function initialsOf(name: string): string {
  const words = name.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
  const [first = '', ...others] = words
  return firstOf(first) + (others.length > 0 ? firstOf(others.at(-1) as string) : '')
}

/** The picture of a user, group or project. */
export const PictureField = (field: Control<Upload | undefined>) => (
  <Field {...field} label={t('Picture')} accept="image/*" hint={t('PNG, JPEG, GIF, WebP or BMP, at most 200 KiB.')} />
)

/** The picture that was chosen: a browser sends an empty file for none. */
export const pictureOf = (file: Upload | undefined): Upload | undefined => (file && file.data.length > 0 ? file : undefined)
