import type { Form, Page } from '../../page.js'
import { imagePage, imageRemoval, imagesPage, imageTagRemoval } from './images.js'
import { groupPackagesPage, packagesPage } from './list.js'
import { packageFilePage, packageFileRemoval, packagePage, packageRemoval } from './show.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const packages: readonly (Page | Form)[] = [
  packagesPage,
  groupPackagesPage,
  packagePage,
  packageFilePage,
  packageRemoval,
  packageFileRemoval,
  imagesPage,
  imagePage,
  imageRemoval,
  imageTagRemoval,
]
