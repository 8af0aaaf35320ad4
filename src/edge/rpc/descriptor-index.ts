import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { FILE_DESCRIPTOR_SET_BASE64 } from '../../gen/descriptors.js';

/** A file of the descriptor set: its bytes as the compiler wrote them, and what it imports. */
export interface DescriptorFile {
  readonly bytes: Buffer;
  readonly imports: readonly string[];
}

/** Every file of our protos by its name, and every name in them by its file. */
export interface DescriptorIndex {
  readonly files: ReadonlyMap<string, DescriptorFile>;
  readonly symbols: ReadonlyMap<string, string>;
}

/** Decodes the descriptor set. The result is the same every time; keep it. */
export function readDescriptorIndex(): DescriptorIndex {
  const set = fromBinary(FileDescriptorSetSchema, Buffer.from(FILE_DESCRIPTOR_SET_BASE64, 'base64'));
  const files = new Map<string, DescriptorFile>();
  const symbols = new Map<string, string>();
  for (const file of set.file) {
    const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file));
    files.set(file.name, { bytes, imports: file.dependency });
    for (const symbol of symbolsOf(file)) symbols.set(symbol, file.name);
  }
  return { files, symbols };
}

/** Full names of everything in a file that can be asked for. */
function symbolsOf(file: FileDescriptorProto): string[] {
  const found: string[] = [];
  const prefix = file.package === '' ? '' : `${file.package}.`;
  const visit = (message: DescriptorProto, scope: string): void => {
    const name = `${scope}${message.name}`;
    found.push(name);
    for (const field of message.field) found.push(`${name}.${field.name}`);
    for (const oneof of message.oneofDecl) found.push(`${name}.${oneof.name}`);
    for (const nested of message.nestedType) visit(nested, `${name}.`);
    for (const nested of message.enumType) found.push(`${name}.${nested.name}`);
  };
  for (const message of file.messageType) visit(message, prefix);
  for (const each of file.enumType) found.push(`${prefix}${each.name}`);
  for (const service of file.service) {
    found.push(`${prefix}${service.name}`);
    for (const method of service.method) found.push(`${prefix}${service.name}.${method.name}`);
  }
  return found;
}
