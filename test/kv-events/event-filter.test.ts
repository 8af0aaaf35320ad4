import { describe, expect, it } from 'vitest';
import { EngineEvent } from '../../src/kv-events/engine-event.js';
import { EventFilter, tierOfMedium } from '../../src/kv-events/event-filter.js';

function eventOf(type: 'stored' | 'removed', fields: Partial<EngineEvent>): EngineEvent {
  const event = new EngineEvent();
  event.reset(type);
  return Object.assign(event, fields);
}

const stored = (fields: Partial<EngineEvent>): EngineEvent => eventOf('stored', fields);
const removed = (fields: Partial<EngineEvent>): EngineEvent => eventOf('removed', fields);

describe('the tier of a medium', () => {
  it.each([
    [undefined, 'device'],
    ['GPU', 'device'],
    ['CPU', 'host'],
    ['CPU_PINNED', 'host'],
    ['CPU_TIER2', 'disk'],
    ['STORAGE', 'disk'],
    ['SHARED', 'external'],
    ['FLOPPY', undefined],
    ['', undefined],
    ['constructor', undefined],
  ])('%s is %s', (medium, tier) => {
    expect(tierOfMedium(medium)).toBe(tier);
  });
});

describe('an event passes', () => {
  it('when it tells neither group nor kind', () => {
    expect(new EventFilter().refusal(stored({}))).toBeUndefined();
    expect(new EventFilter().refusal(removed({}))).toBeUndefined();
  });

  it.each(['full_attention', 'mla_attention', 'sink_full_attention'])(
    'when its kind is %s',
    (attentionKind) => {
      expect(new EventFilter().refusal(stored({ attentionKind, groupIndex: 3 }))).toBeUndefined();
    },
  );

  it('when it is of full attention with a window', () => {
    const event = stored({ attentionKind: 'full_attention', hasSlidingWindow: true });
    expect(new EventFilter().refusal(event)).toBeUndefined();
  });

  it('when it is of group 0, of which nothing is known', () => {
    expect(new EventFilter().refusal(removed({ groupIndex: 0 }))).toBeUndefined();
  });

  it('when its group was learned to be main', () => {
    const filter = new EventFilter();
    filter.refusal(stored({ groupIndex: 2, attentionKind: 'mla_attention' }));
    expect(filter.refusal(removed({ groupIndex: 2 }))).toBeUndefined();
    expect(filter.refusal(stored({ groupIndex: 2 }))).toBeUndefined();
  });

  it('when it says that it is local', () => {
    expect(new EventFilter().refusal(stored({ locality: 'LOCAL' }))).toBeUndefined();
  });
});

describe('an event is refused', () => {
  it.each(['REMOTE', 'elsewhere', ''])('when its locality is %j', (locality) => {
    expect(new EventFilter().refusal(stored({ locality }))).toBe('remote_locality');
  });

  it.each(['sliding_window', 'sliding_window_mla', 'mamba', 'chunked_local_attention'])(
    'when its kind is %s',
    (attentionKind) => {
      expect(new EventFilter().refusal(stored({ attentionKind }))).toBe('non_main_attention');
    },
  );

  it('when nobody knows its kind, and its group with it', () => {
    const filter = new EventFilter();
    const event = stored({ attentionKind: 'quantum_attention', groupIndex: 0 });
    expect(filter.refusal(event)).toBe('unknown_attention_kind');
    expect(filter.refusal(removed({ groupIndex: 0 }))).toBe('non_main_attention');
  });

  it('when its group was learned to be another', () => {
    const filter = new EventFilter();
    filter.refusal(stored({ groupIndex: 0, attentionKind: 'sliding_window' }));
    expect(filter.refusal(removed({ groupIndex: 0 }))).toBe('non_main_attention');
  });

  it('when no store has told what its group is', () => {
    expect(new EventFilter().refusal(removed({ groupIndex: 1 }))).toBe('unlearned_group');
    expect(new EventFilter().refusal(stored({ groupIndex: 1 }))).toBe('unlearned_group');
  });

  it('when it has a window and no kind', () => {
    expect(new EventFilter().refusal(stored({ hasSlidingWindow: true }))).toBe('non_main_attention');
  });

  it('once what was learned is forgotten', () => {
    const filter = new EventFilter();
    filter.refusal(stored({ groupIndex: 2, attentionKind: 'mla_attention' }));
    filter.clear();
    expect(filter.refusal(removed({ groupIndex: 2 }))).toBe('unlearned_group');
  });
});
