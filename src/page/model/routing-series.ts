import { VIEW_LIMITS, type ViewBucket, type ViewDocument } from '../../core/view/view-document.js';
import { joinBuckets, timesOf } from './routing-sums.js';

/** The last minutes of routing, as curves are drawn of them. */
export interface RoutingSeries {
  /** Of all models that are looked at, added up by time, oldest first. */
  readonly buckets: readonly ViewBucket[];
  /** Milliseconds that one bucket covers. */
  readonly bucketMs: number;
  /** Times of the curves' points, in milliseconds since 1970. */
  readonly times: readonly number[];
  /** One value for each time; `otherwise` where nothing is known. */
  readonly curve: (
    read: (bucket: ViewBucket) => number | undefined,
    otherwise: number | null,
  ) => (number | null)[];
  /** The same of a count, in 1/s; 0 where nothing is known. */
  readonly ratePerSecond: (read: (bucket: ViewBucket) => number) => (number | null)[];
}

/** The series of one group, or of all of them where `group` is empty. */
export function routingSeriesOf(document: ViewDocument, group: string): RoutingSeries {
  const chosen = document.routing.filter((each) => group === '' || each.group === group);
  const bucketMs = chosen[0]?.bucketMs ?? VIEW_LIMITS.bucketMs;
  const buckets = joinBuckets(chosen);
  const times = timesOf(buckets, bucketMs, document.atMs, document.process.startedAtMs);
  const byTime = new Map(buckets.map((bucket) => [bucket.atMs, bucket]));
  const curve: RoutingSeries['curve'] = (read, otherwise) =>
    times.map((time) => {
      const bucket = byTime.get(time);
      return bucket === undefined ? otherwise : (read(bucket) ?? otherwise);
    });
  return {
    buckets,
    bucketMs,
    times,
    curve,
    ratePerSecond: (read) => curve((bucket) => read(bucket) / (bucketMs / 1_000), 0),
  };
}
