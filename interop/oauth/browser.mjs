#!/usr/bin/env node
// A person at a browser: `browser.mjs URL`, as a program that `BROWSER` can name.
//
// Opens the URL in headless Chromium, with a profile of its own, fills in every form that it meets (the name
// is `ada`), consents, and goes on until it is at the redirect URI that the URL names. Nothing outside
// this machine is reached. `BROWSER_LOG` names the file that gets two lines of JSON for each visit: that it began,
// and the pages that were seen, with their text and without their queries, or what went wrong. `CHROMIUM` names the
// program.

import { appendFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const PATIENCE = 20_000;
/** Login, consent, and one of each to spare. */
const MOST_PAGES = 5;
const REFUSALS = /\b(deny|cancel|refuse|reject|decline|abort|no)\b/i;

function note(what) {
  if (process.env.BROWSER_LOG) {
    appendFileSync(process.env.BROWSER_LOG, `${JSON.stringify(what)}\n`);
  }
}

/** Where the page is, without what may be secret. */
function place(address) {
  const { origin, pathname } = new URL(address);
  return origin + pathname;
}

function isHere(address) {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(address).hostname);
}

/** The button that says yes. */
async function consentButton(page) {
  for (const button of await page.locator('button, input[type=submit]').all()) {
    const says = (await button.textContent()) || (await button.getAttribute('value')) || '';
    if ((await button.isVisible()) && !REFUSALS.test(says)) {
      return button;
    }
  }
  throw new Error(`nothing to press on ${place(page.url())}`);
}

/** Does what the page asks for, and waits for the next one. */
async function answer(page) {
  for (const field of await page.locator('input:visible').all()) {
    const type = (await field.getAttribute('type')) ?? 'text';
    if (['text', 'email', 'password'].includes(type)) {
      await field.fill(type === 'password' ? 'correct horse' : 'ada');
    }
  }
  const button = await consentButton(page);
  await Promise.all([page.waitForEvent('framenavigated', { timeout: PATIENCE }), button.click()]);
  await page.waitForLoadState('domcontentloaded');
}

/** From the URL to the redirect URI; every page on the way is kept. */
async function visit(page, url, pages) {
  const redirect = new URL(url).searchParams.get('redirect_uri');
  await page.goto(url, { timeout: PATIENCE, waitUntil: 'domcontentloaded' });
  for (let turn = 0; turn <= MOST_PAGES; turn += 1) {
    const at = place(page.url());
    pages.push({ at, text: await page.locator('body').innerText() });
    if (at === place(redirect)) {
      return;
    }
    await answer(page);
  }
  throw new Error(`${MOST_PAGES} pages, and no redirect to ${place(redirect)}`);
}

const [url, ...more] = process.argv.slice(2);
if (!url || more.length > 0) {
  console.error('usage: browser.mjs URL');
  process.exit(2);
}
// Before anything is reached: whoever waits for the redirect finds this line when it comes.
note({ opened: place(url), scope: new URL(url).searchParams.get('scope') });
const pages = [];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-proxy-server'],
});
try {
  const page = await browser.newPage();
  await page.route((address) => !isHere(address), (route) => route.abort());
  await visit(page, url, pages);
  note({ pages });
} catch (error) {
  note({ pages, error: error.message });
  process.exitCode = 1;
} finally {
  await browser.close();
}
