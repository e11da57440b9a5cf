// SPDX-License-Identifier: MIT
// Keeps the page for when there is no network: the newest that could be fetched, else the one that was kept.
'use strict';

const kept = 'llmres';
addEventListener('install', (event) => event.waitUntil(caches.open(kept).then((cache) => cache.add('./')).then(() => skipWaiting())));
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  if (event.request.mode !== 'navigate') return;
  event.respondWith(fetch(event.request).then(async (fresh) => {
    if (fresh.ok) await (await caches.open(kept)).put('./', fresh.clone());
    return fresh;
  }).catch(() => caches.match('./')));
});
