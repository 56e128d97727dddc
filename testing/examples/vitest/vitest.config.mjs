import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { include: ['*.test.mjs'], globalSetup: './global-setup.mjs', maxWorkers: 2 },
})
