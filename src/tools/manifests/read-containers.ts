import { isScalar, type YAMLMap } from 'yaml';
import { listPlaceIn } from './list-place.js';
import type { ContainerSite, EnvEntry, EnvSource, Mount, OpenContainer, Volume } from './pod-site.js';
import { placedText, placeOfNode, type YamlAccess } from './yaml-access.js';

/** What a container is called that needs no name. KServe gives its own to the one of a model. */
const NAMES: Readonly<Partial<Record<ContainerSite['list'], string>>> = {
  mainContainer: 'main',
  model: 'kserve-container',
};

/**
 * The containers of a pod spec. A component's own variables go to its main
 * container: `mainContainer`, or the one called `main` (v1beta1).
 */
export function readContainers(
  access: YamlAccess,
  spec: YAMLMap | undefined,
  componentEnv: readonly EnvEntry[],
): { readonly containers: readonly OpenContainer[]; readonly initContainers: readonly OpenContainer[] } {
  const main = access.map(spec, 'mainContainer');
  const model =
    access.map(spec, 'model', 'modelFormat') === undefined ? undefined : access.map(spec, 'model');
  const container = (list: ContainerSite['list'], node: YAMLMap): OpenContainer => {
    const name = access.text(node, 'name')?.value ?? NAMES[list] ?? '';
    const own = readEnv(access, node, 'env');
    const isMain = list === 'mainContainer' || (list === 'containers' && name === 'main');
    return {
      name,
      image: access.text(node, 'image'),
      workingDir: access.text(node, 'workingDir'),
      command: access.texts(node, 'command'),
      args: access.texts(node, 'args'),
      env: isMain ? [...componentEnv, ...own] : own,
      envFrom: readEnvFrom(access, node),
      mounts: readMounts(access, node),
      ports: access.maps(node, 'ports').flatMap((one) => access.text(one, 'containerPort')?.value ?? []),
      restartsAlways: access.text(node, 'restartPolicy')?.value === 'Always',
      startupProbe: readProbe(access, access.map(node, 'startupProbe')),
      places: {
        env: listPlaceIn(access, node, 'env'),
        args: listPlaceIn(access, node, 'args'),
        command: listPlaceIn(access, node, 'command'),
      },
      node,
      list,
    };
  };
  return {
    initContainers: access.maps(spec, 'initContainers').map((node) => container('initContainers', node)),
    containers: [
      ...(main === undefined ? [] : [container('mainContainer', main)]),
      ...(model === undefined ? [] : [container('model', model)]),
      ...access.maps(spec, 'containers').map((node) => container('containers', node)),
    ],
  };
}

/** The variables of a list, in its order. */
export function readEnv(access: YamlAccess, map: YAMLMap | undefined, key: string): readonly EnvEntry[] {
  return access.maps(map, key).flatMap((node): readonly EnvEntry[] => {
    const name = access.text(node, 'name')?.value;
    if (name === undefined) return [];
    const value = access.text(node, 'value');
    const { start, end } = placeOfNode(node);
    const entry = { name, value, start, end };
    if (value !== undefined) return [entry];
    if (
      /^status\.podIPs?$/.test(
        access.text(access.map(node, 'valueFrom', 'fieldRef'), 'fieldPath')?.value ?? '',
      )
    )
      return [{ ...entry, isPodAddress: true }];
    const from = access.map(node, 'valueFrom', 'configMapKeyRef');
    const configMap = access.text(from, 'name')?.value;
    const wanted = access.text(from, 'key')?.value;
    return [
      configMap === undefined || wanted === undefined ? entry : { ...entry, key: { configMap, key: wanted } },
    ];
  });
}

/** The volumes of a pod spec that have ConfigMaps. */
export function readVolumes(access: YamlAccess, spec: YAMLMap | undefined): readonly Volume[] {
  return access.maps(spec, 'volumes').flatMap((volume) => {
    const projected = access.maps(access.map(volume, 'projected'), 'sources');
    const configMaps = [volume, ...projected].flatMap((source) => {
      const configMap = access.map(source, 'configMap');
      const name = access.text(configMap, 'name')?.value;
      if (name === undefined) return [];
      const items = access
        .maps(configMap, 'items')
        .map((item) => ({ key: access.text(item, 'key')?.value, path: access.text(item, 'path')?.value }));
      return [{ name, items }];
    });
    return configMaps.length === 0 ? [] : [{ name: access.text(volume, 'name')?.value, configMaps }];
  });
}

function readEnvFrom(access: YamlAccess, container: YAMLMap): readonly EnvSource[] {
  return access.maps(container, 'envFrom').map((from) => ({
    configMap: access.text(access.map(from, 'configMapRef'), 'name')?.value,
    secret: access.text(access.map(from, 'secretRef'), 'name')?.value,
    prefix: access.text(from, 'prefix')?.value ?? '',
  }));
}

function readMounts(access: YamlAccess, container: YAMLMap): readonly Mount[] {
  return access.maps(container, 'volumeMounts').flatMap((mount) => {
    const at = access.text(mount, 'mountPath')?.value.replace(/\/+$/, '');
    const volume = access.text(mount, 'name')?.value;
    const subPath = access.text(mount, 'subPath')?.value ?? '';
    return at === undefined ? [] : [{ at, volume, subPath }];
  });
}

function readProbe(access: YamlAccess, probe: YAMLMap | undefined): ContainerSite['startupProbe'] {
  if (probe === undefined) return undefined;
  const text = (kind: string, key: string): ReturnType<typeof placedText> => {
    const node = access.get(access.map(probe, kind), key);
    return isScalar(node) && typeof node.value === 'string' ? placedText(node) : undefined;
  };
  const service = text('grpc', 'service');
  const path = text('httpGet', 'path');
  return { ...(service && { service }), ...(path && { path }) };
}
