import { describe, expect, it } from 'vitest';
import { mediaUseOf } from '../../../src/frontend/tokens/media-parts.js';

const DATA = 'data:image/png;base64,AA';
const FAR = 'https://elsewhere.test/a';

/** A turn with these parts after a text. */
const turn = (text: string, ...parts: readonly object[]): object[] => [
  { role: 'user', content: [{ type: text, text: 'what is this?' }, ...parts] },
];

describe('what an engine would load from elsewhere', () => {
  it.each<[string, object]>([
    ['an image by its address', { type: 'image_url', image_url: { url: `${FAR}.png` } }],
    ['an image by a path', { type: 'image_url', image_url: { url: 'file:///a.png' } }],
    ['a video by its address', { type: 'video_url', video_url: { url: `${FAR}.mp4` } }],
    ['a sound by its address', { type: 'audio_url', audio_url: { url: `${FAR}.wav` } }],
    [
      'frames of a video, one of them far',
      { type: 'video', video: [{ url: DATA }], video_url: `${FAR}.mp4` },
    ],
    ['a file by its id', { type: 'file', file: { file_id: 'file-1' } }],
  ])('in a chat: %s', (_, part) => {
    expect(mediaUseOf('chat', turn('text', part))).toBe('linked');
  });

  it.each<[string, object]>([
    ['an image by its address', { type: 'input_image', image_url: `${FAR}.png` }],
    ['an image by its id', { type: 'input_image', file_id: 'file-1' }],
    ['a file by its address', { type: 'input_file', file_url: `${FAR}.pdf` }],
  ])('in a response: %s', (_, part) => {
    expect(mediaUseOf('responses', turn('input_text', part))).toBe('linked');
    // What a tool gave is looked into as well.
    expect(mediaUseOf('responses', [{ type: 'function_call_output', call_id: 'c', output: [part] }])).toBe(
      'linked',
    );
  });

  it.each<[string, object]>([
    ['an image by its address', { type: 'image', source: { type: 'url', url: `${FAR}.png` } }],
    ['a document by its id', { type: 'document', source: { type: 'file', file_id: 'file-1' } }],
  ])('in a message: %s', (_, part) => {
    expect(mediaUseOf('messages', turn('text', part))).toBe('linked');
    const given = { type: 'tool_result', tool_use_id: 't', content: [part] };
    expect(mediaUseOf('messages', turn('text', given))).toBe('linked');
  });
});

describe('what stands in a request whole', () => {
  it.each<[Parameters<typeof mediaUseOf>[0], object]>([
    ['chat', { type: 'image_url', image_url: { url: DATA } }],
    ['chat', { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AA' } }],
    ['chat', { type: 'audio_url', audio_url: { url: 'data:audio/wav;base64,AA' } }],
    ['chat', { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }],
    ['responses', { type: 'input_image', image_url: DATA }],
    ['responses', { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }],
    ['messages', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } }],
  ])('of %s: %j', (kind, part) => {
    expect(mediaUseOf(kind, turn(kind === 'responses' ? 'input_text' : 'text', part))).toBe('inline');
  });

  it('is no longer so beside one that is elsewhere, or as a part of unknown kind with an address', () => {
    const inline = { type: 'image_url', image_url: { url: DATA } };
    const linked = { type: 'image_url', image_url: { url: `${FAR}.png` } };
    expect(mediaUseOf('chat', turn('text', inline, linked))).toBe('linked');
    expect(mediaUseOf('chat', turn('text', { type: 'of tomorrow', where: `${FAR}.png` }))).toBe('linked');
  });

  it('is nothing where text stands alone', () => {
    expect(mediaUseOf('chat', turn('text'))).toBeUndefined();
    expect(mediaUseOf('responses', turn('input_text'))).toBeUndefined();
  });
});
