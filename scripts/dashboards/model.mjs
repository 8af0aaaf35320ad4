// From a page, which says what is to be seen, to Grafana's JSON (schema 39, Grafana 10.4 and later).

const SCHEMA_VERSION = 39;
/** Columns of Grafana's grid. */
const COLUMNS = 24;
const HEIGHTS = { stat: 4, timeseries: 8, table: 8 };
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own form of a variable
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

/** The variables that a page may ask for. Each is chosen among what its query finds. */
const VARIABLES = {
  group: { label: 'Model', query: 'label_values(kv_accord_gate_open, group)' },
  worker: {
    label: 'Worker',
    query: 'label_values(kv_accord_router_worker_decisions_total{group=~"$group"}, worker_id)',
  },
};

/** A dashboard of a page. */
export function dashboardOf({ name, title, description, variables, rows, pages = [] }) {
  const panels = [];
  let top = 0;
  for (const row of rows) {
    panels.push({
      type: 'row',
      id: panels.length + 1,
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y: top, w: COLUMNS, h: 1 },
      panels: [],
    });
    top += 1;
    let left = 0;
    let height = 0;
    for (const panel of row.panels) {
      const { width = 12 } = panel;
      if (left + width > COLUMNS) {
        top += height;
        left = 0;
        height = 0;
      }
      const h = HEIGHTS[panel.type];
      panels.push({ ...panelOf(panel), id: panels.length + 1, gridPos: { x: left, y: top, w: width, h } });
      left += width;
      height = Math.max(height, h);
    }
    top += height;
  }
  return {
    uid: `kv-accord-${name}`,
    title,
    description,
    tags: ['kv-accord'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: [datasourceVariable(), ...variables.map(variableOf)] },
    links: pages,
    annotations: { list: [] },
    panels,
  };
}

function datasourceVariable() {
  return { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' };
}

function variableOf(name) {
  const { label, query } = VARIABLES[name];
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  };
}

function panelOf({
  type,
  title,
  description,
  unit = 'short',
  queries,
  mappings = [],
  steps,
  isStacked,
  max,
}) {
  return {
    type,
    title,
    description,
    datasource: DATASOURCE,
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + at),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(type === 'timeseries' ? { range: true } : { instant: true, range: false }),
      ...(type === 'table' ? { format: 'table' } : {}),
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(max === undefined ? {} : { max }),
        noValue: type === 'table' ? 'none' : 'no data',
        mappings,
        ...(steps === undefined ? {} : { thresholds: { mode: 'absolute', steps } }),
        ...(type === 'timeseries' && isStacked
          ? { custom: { stacking: { mode: 'normal', group: 'A' }, fillOpacity: 30 } }
          : {}),
      },
      overrides: [],
    },
    options: OPTIONS[type],
    ...(type === 'table'
      ? { transformations: [{ id: 'organize', options: { excludeByName: { Time: true } } }] }
      : {}),
  };
}

const OPTIONS = {
  stat: {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    textMode: 'value_and_name',
    colorMode: 'background',
    graphMode: 'none',
  },
  timeseries: {
    legend: { showLegend: true, displayMode: 'table', placement: 'right', calcs: ['lastNotNull', 'max'] },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  table: { showHeader: true },
};
