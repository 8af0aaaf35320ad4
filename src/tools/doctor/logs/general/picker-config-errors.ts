/** What an endpoint picker of the Gateway API or of llm-d refuses of its own configuration. */
export interface PickerRefusal {
  /** The plugin whose parameters are meant, by its type, and by its name where that is another; empty where the sentence is of another section. */
  readonly plugin: string;
  /** The innermost error. */
  readonly said: string;
}

const MARK = 'EndpointPickerConfig';
/** Steps of the loader, each of which wraps the error of the next: `configloader.go`, 0.3 to llm-d-router 0.10. */
const STEP =
  /^(?:[Ff]ailed to (?:load the configuration|load config(?: from a file '[^']{1,200}')?|instantiate plugins|validate (?:feature gates|scheduling profiles)|load (?:scheduler config|feature gates|flow control config)|parse config|create (?:registry|controller) config|apply [\w ]{1,60}defaults?|decode configuration JSON\/YAML)|the configuration is invalid|(?:plugin instantiation|system default application|configuration validation|(?:scheduler|data layer|parse) config build|parser registry build|(?:feature gate|scheduling profile|saturation detector|parser) validation) failed|error converting YAML to JSON)(?: - |: )/;
const OF_PLUGIN =
  /^(?:failed to create plugin '([^']{1,120})' \(type: ([^)]{1,120})\): |failed to instantiate the plugin type '([^']{1,120})' - |failed to parse plugin parameters for (\S{1,120}) \(type: ([^)]{1,120})\): )/;
/** What a plugin says before its own error. */
const PARAMETERS =
  /^(?:failed to (?:parse|decode|unmarshal)[^:]{1,80}?(?: - |: |\. Error: )|(?:decode|parse) [\w. -]{1,60}: |invalid (?:[\w ]{1,40} )?config(?:uration)?(?: for [^:]{1,80})?: |plugin '[^']{1,120}': )/;

/** The error of a picker that does not start, without what its loader wraps around it. */
export function pickerRefusalText(error: string): string {
  let rest = error.replace(/\s+/g, ' ').trim().replace(/^: /, '');
  let plugin = '';
  for (let step = 0; step < 12; step += 1) {
    const wrapped = STEP.exec(rest) ?? (plugin === '' ? null : PARAMETERS.exec(rest));
    const named = OF_PLUGIN.exec(rest);
    if (named !== null) {
      const name = named[1] ?? named[4];
      const type = named[2] ?? named[3] ?? named[5] ?? '';
      plugin = name === undefined || name === type ? type : `${type} (${name})`;
    }
    const cut = wrapped?.[0] ?? named?.[0];
    if (cut === undefined) break;
    rest = rest.slice(cut.length);
  }
  return `${MARK}${plugin === '' ? '' : `, plugin ${plugin}`}: ${rest}`;
}

/** Reads such a text again; undefined for sentences of other programs. */
export function pickerRefusalIn(sentence: string): PickerRefusal | undefined {
  const [, plugin = '', said] =
    /^EndpointPickerConfig(?:, plugin ([\w.-]{1,120}(?: \([\w.-]{1,120}\))?))?: (.+)$/.exec(sentence) ?? [];
  return said === undefined ? undefined : { plugin, said };
}
