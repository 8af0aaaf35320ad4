/** How an Envoy asks a picker. */
export interface EnvoyOptions {
  /** Port of `ext_proc`; absent: nothing is asked, and requests go round. */
  readonly pickerPort?: number;
  /** Default true: TLS, whose certificate is not checked, as gateways of the Inference Extension have it. */
  readonly isSecure?: boolean;
  /** PEM of the authority that must have signed the picker's certificate. Default: it is not checked. */
  readonly pickerAuthority?: string;
  /** Requests after which the connection to the picker is replaced by a new one. Default: never. */
  readonly pickerRequestsPerConnection?: number;
  /** Ports of the engines, or `IP:PORT` of those elsewhere. */
  readonly engines: readonly (number | string)[];
  /** `request_body_mode` and `response_body_mode`. Default `FULL_DUPLEX_STREAMED` for both. */
  readonly requestBodyMode?: string;
  readonly responseBodyMode?: string;
  /** Further fields of the filter. */
  readonly filter?: Readonly<Record<string, unknown>>;
  /** `envoy.lb.subset_hint` of every request. */
  readonly subset?: readonly string[];
  /** Port of a collector that gets Envoy's own spans over OTLP/HTTP. Default none. */
  readonly collectorPort?: number;
  /** Threads that serve. Default 1. */
  readonly concurrency?: number;
}

const ENVOY = 'type.googleapis.com/envoy';
const COLLECTOR = 'collector';
const DESTINATION = 'x-gateway-destination-endpoint';

/** The configuration of an Envoy that serves at `port`, as gateways configure it for an Endpoint Picker. */
export function envoyConfigOf(options: EnvoyOptions, port: number, adminPort: number): object {
  const { pickerPort, engines, collectorPort } = options;
  return {
    admin: { address: address(adminPort) },
    static_resources: {
      listeners: [
        { name: 'door', address: address(port), filter_chains: [{ filters: [connectionManager(options)] }] },
      ],
      clusters: [
        {
          name: 'engines',
          type: 'STATIC',
          connect_timeout: '2s',
          load_assignment: endpoints('engines', engines),
          ...(pickerPort === undefined
            ? { lb_policy: 'ROUND_ROBIN' }
            : { load_balancing_policy: overrideHost() }),
        },
        ...(pickerPort === undefined ? [] : [pickerCluster(pickerPort, options)]),
        ...(collectorPort === undefined
          ? []
          : [{ name: COLLECTOR, type: 'STATIC', load_assignment: endpoints(COLLECTOR, [collectorPort]) }]),
      ],
    },
  };
}

/** Every request has a span, which is sent within a moment. */
function tracing(collectorPort: number): object {
  const uri = `http://127.0.0.1:${collectorPort}/v1/traces`;
  return {
    random_sampling: { value: 100 },
    provider: {
      name: 'envoy.tracers.opentelemetry',
      typed_config: {
        '@type': `${ENVOY}.config.trace.v3.OpenTelemetryConfig`,
        service_name: 'envoy',
        http_service: { http_uri: { uri, cluster: COLLECTOR, timeout: '2s' } },
      },
    },
  };
}

function connectionManager({ pickerPort, subset, collectorPort, ...options }: EnvoyOptions): object {
  const filters = [
    ...(subset === undefined ? [] : [subsetFilter(subset)]),
    ...(pickerPort === undefined ? [] : [extProc(options)]),
    { name: 'router', typed_config: { '@type': `${ENVOY}.extensions.filters.http.router.v3.Router` } },
  ];
  return {
    name: 'http',
    typed_config: {
      '@type': `${ENVOY}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: 'door',
      http_filters: filters,
      ...(collectorPort === undefined ? {} : { tracing: tracing(collectorPort) }),
      route_config: {
        virtual_hosts: [
          {
            name: 'all',
            domains: ['*'],
            routes: [
              {
                match: { prefix: '/' },
                route: {
                  cluster: 'engines',
                  timeout: '600s',
                  retry_policy: { retry_on: 'connect-failure,reset-before-request', num_retries: 2 },
                },
              },
            ],
          },
        ],
      },
    },
  };
}

function subsetFilter(subset: readonly string[]): object {
  return {
    name: 'subset',
    typed_config: {
      '@type': `${ENVOY}.extensions.filters.http.set_metadata.v3.Config`,
      metadata: [
        {
          metadata_namespace: 'envoy.lb.subset_hint',
          value: { 'x-gateway-destination-endpoint-subset': subset },
        },
      ],
    },
  };
}

function extProc({
  requestBodyMode,
  responseBodyMode,
  filter,
}: Omit<EnvoyOptions, 'pickerPort' | 'subset'>): object {
  return {
    name: 'picker',
    typed_config: {
      '@type': `${ENVOY}.extensions.filters.http.ext_proc.v3.ExternalProcessor`,
      failure_mode_allow: false,
      message_timeout: '60s',
      grpc_service: { envoy_grpc: { cluster_name: 'picker' } },
      processing_mode: {
        request_header_mode: 'SEND',
        response_header_mode: 'SEND',
        request_body_mode: requestBodyMode ?? 'FULL_DUPLEX_STREAMED',
        response_body_mode: responseBodyMode ?? 'FULL_DUPLEX_STREAMED',
        request_trailer_mode: 'SEND',
        response_trailer_mode: 'SEND',
      },
      metadata_options: {
        forwarding_namespaces: { untyped: ['envoy.lb', 'envoy.lb.subset_hint'] },
        receiving_namespaces: { untyped: ['envoy.lb'] },
      },
      ...filter,
    },
  };
}

function overrideHost(): object {
  return {
    policies: [
      {
        typed_extension_config: {
          name: 'envoy.load_balancing_policies.override_host',
          typed_config: {
            '@type': `${ENVOY}.extensions.load_balancing_policies.override_host.v3.OverrideHost`,
            override_host_sources: [
              { header: DESTINATION },
              { metadata: { key: 'envoy.lb', path: [{ key: DESTINATION }] } },
            ],
            selected_host_key: { key: 'envoy.lb', path: [{ key: `${DESTINATION}-served` }] },
            fallback_policy: {
              policies: [
                {
                  typed_extension_config: {
                    name: 'envoy.load_balancing_policies.round_robin',
                    typed_config: {
                      '@type': `${ENVOY}.extensions.load_balancing_policies.round_robin.v3.RoundRobin`,
                    },
                  },
                },
              ],
            },
          },
        },
      },
    ],
  };
}

function pickerCluster(
  port: number,
  { isSecure = true, pickerAuthority, pickerRequestsPerConnection }: EnvoyOptions,
): object {
  return {
    name: 'picker',
    type: 'STATIC',
    connect_timeout: '2s',
    load_assignment: endpoints('picker', [port]),
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': `${ENVOY}.extensions.upstreams.http.v3.HttpProtocolOptions`,
        explicit_http_config: { http2_protocol_options: {} },
        ...(pickerRequestsPerConnection === undefined
          ? {}
          : { common_http_protocol_options: { max_requests_per_connection: pickerRequestsPerConnection } }),
      },
    },
    ...(isSecure
      ? {
          transport_socket: {
            name: 'tls',
            typed_config: {
              '@type': `${ENVOY}.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
              ...(pickerAuthority === undefined
                ? {}
                : {
                    common_tls_context: {
                      validation_context: { trusted_ca: { inline_string: pickerAuthority } },
                    },
                  }),
            },
          },
        }
      : {}),
  };
}

function endpoints(cluster: string, places: readonly (number | string)[]): object {
  return {
    cluster_name: cluster,
    endpoints: [{ lb_endpoints: places.map((place) => ({ endpoint: { address: address(place) } })) }],
  };
}

function address(place: number | string): object {
  const [host, port] = typeof place === 'number' ? ['127.0.0.1', place] : place.split(':');
  return { socket_address: { address: host, port_value: Number(port) } };
}
