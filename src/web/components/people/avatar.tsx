import type { Upload } from '../../../http/uploads.js'
import { avatarUrl } from '../../../rules/avatar-url.js'
import type { Control } from '../../fields.js'
import type { PageView } from '../../page.js'
import { Field } from '../form.js'

/** The picture of a user; the name stands beside it or in a label around it. */
export const Avatar = ({ view, user, size = 24 }: { view: PageView; user: { id: number; avatar: string | null }; size?: number }) => (
  <img
    class="avatar"
    src={avatarUrl(user, { base: view.links.prefix, service: view.avatarService })}
    alt=""
    width={size}
    height={size}
    loading="lazy"
  />
)

/** The picture of a user, group or project. */
export const PictureField = (field: Control<Upload | undefined>) => (
  <Field {...field} label="Picture" accept="image/*" hint="PNG, JPEG, GIF, WebP or BMP, at most 200 KiB." />
)

/** The picture that was chosen: a browser sends an empty file for none. */
export const pictureOf = (file: Upload | undefined): Upload | undefined => (file && file.data.length > 0 ? file : undefined)
