import type { FleetView, GroupView } from '../../core/agreement/view/snapshot.js';
import { shownLine, shownText } from '../../core/view/shown-text.js';
import { VIEW_LIMITS, type ViewModel, type ViewTone } from '../../core/view/view-document.js';
import { isFault } from './view-workers.js';

/** Reasons of one model that are shown. */
const MAX_REASONS = 10;

/** The models as they are shown, by name. */
export function viewModels({ groups }: FleetView): ViewModel[] {
  return groups.slice(0, VIEW_LIMITS.models).map(modelOf);
}

function modelOf(view: GroupView): ViewModel {
  const { members, values, epoch, gateOpen, ready, isOverride, routingMode, partialReason } = view;
  const counts: Record<string, number> = {};
  for (const { state, ejectedReason } of members) {
    const shown = ejectedReason === '' ? state : 'ejected';
    counts[shown] = (counts[shown] ?? 0) + 1;
  }
  const keptOutCount = members.filter(isFault).length;
  const tokensPerBlock = values?.tokens_per_block;
  return {
    group: shownLine(view.group),
    state: view.state,
    epoch,
    isGateOpen: gateOpen,
    isReady: ready,
    tone: toneOf(view, keptOutCount),
    ...(typeof tokensPerBlock === 'number' ? { tokensPerBlock } : {}),
    isOverride,
    routingMode,
    routingReason: shownText(view.routingReason, VIEW_LIMITS.whyChars),
    reasons: view.reasons
      .slice(0, MAX_REASONS)
      .map(({ code, text }) => ({ code, text: shownText(text, VIEW_LIMITS.entryChars) })),
    partialReason: shownText(partialReason, VIEW_LIMITS.whyChars),
    counts,
    memberCount: members.length,
    keptOutCount,
  };
}

function toneOf({ state, ready, partialReason }: GroupView, keptOutCount: number): ViewTone {
  if (state === 'conflict') return 'bad';
  return ready && keptOutCount === 0 && partialReason === '' ? 'good' : 'warn';
}
