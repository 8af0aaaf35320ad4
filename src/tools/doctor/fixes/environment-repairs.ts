import type { EnvironmentKind } from '../logs/general/environment-kinds.js';
import {
  type ConnectionFailure,
  connectionFailureIn,
  hostAndPort,
  type PeerAddress,
  peerAddressIn,
} from '../logs/general/failed-connections.js';
import type { Repair } from './repair.js';

/** What repairs the surroundings of a program, by the address, path or name that its error has. */
export function repairEnvironment(kind: EnvironmentKind, sentence: string): Repair {
  return REPAIRS[kind](sentence);
}

const NO_CONNECTION =
  'No connection came about: what should listen there has not started yet or has ended, or something between the two keeps packets back.';

const UNREACHABLE: Readonly<Record<ConnectionFailure, string>> = {
  refused:
    'The host answered that nobody listens on that port: what should has not started yet, has ended, or listens on another port or on 127.0.0.1 alone (--host 0.0.0.0).',
  unresolved: NO_CONNECTION,
  silent: 'Nobody answered in time: the host is gone, or something between the two keeps packets back.',
  unsaid: NO_CONNECTION,
};

const REPAIRS: Readonly<Record<EnvironmentKind, (sentence: string) => Repair>> = {
  unresolved: (sentence) => {
    const name = nameIn(sentence) ?? 'the name in the sentence';
    return {
      says: `Create the Service that ${name} is the name of, or write the name of one that is there into the program's setting: NAME.NAMESPACE where it is in another namespace`,
      why: 'The DNS of the cluster knows Services by their names within a namespace, and pods of a StatefulSet by a headless Service. A name out of an example is known nowhere.',
      commands: [
        'kubectl get svc -A    # names and namespaces that are there',
        `kubectl exec POD -- getent hosts ${nameIn(sentence) ?? 'NAME'}    # no line: it does not resolve`,
      ],
    };
  },
  certificate: (sentence) =>
    /WRONG_VERSION|first record/i.test(sentence)
      ? {
          says: 'Give the program the address with http:// in place of https://, or the port on which the other side speaks TLS',
          why: 'The other side answered without TLS.',
          commands: ['curl -v http://HOST:PORT/    # answers: there is no TLS on that port'],
        }
      : {
          says: "Give the program the certificate of the authority that signed the one of the other side: SSL_CERT_FILE=FILE (REQUESTS_CA_BUNDLE=FILE for Python's requests, AWS_CA_BUNDLE=FILE for S3); where it has expired, renew it there",
          why: 'The container knows public authorities alone. A proxy of a company, a store of its own and a cluster sign with theirs.',
          commands: [
            'openssl s_client -connect HOST:PORT -showcerts </dev/null    # who signed it, until when',
          ],
        },
  credentials: (sentence) =>
    /botocore|boto3|\bs3\b|AccessKey|Signature|HeadObject|HeadBucket|PutObject|GetObject|AccessDenied|locate credentials/i.test(
      sentence,
    )
      ? {
          says: 'Give the program credentials that may read and write the bucket (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of a Secret, or a role for its service account), with the region and the endpoint of the bucket',
          why: 'The store of objects knows who asks, and does not let it, or nobody said who asks. A bucket that is not there is answered with 403, too, where one may not list.',
          commands: ['kubectl exec POD -- env | grep -c AWS_    # none: they do not reach the program'],
        }
      : {
          says: 'Give the program the user and the password of what it asks, out of a Secret (redis://:PASSWORD@HOST:PORT for Redis, nats://USER:PASSWORD@HOST:4222 for NATS, HF_TOKEN for the hub)',
          why: 'The other side answers, and refuses who asks.',
          commands: ['kubectl get secret -A | grep -iE "redis|nats|token"    # which ones are there'],
        },
  unreachable: (sentence) => {
    const peer = placedPeerIn(sentence);
    const address = peer === undefined ? undefined : hostAndPort(peer);
    const isHttp = peer?.scheme.startsWith('http') === true;
    return {
      says: `Have ${address === undefined ? 'what the program connects to' : `what listens at ${address}`} run, and let this pod reach it (kubectl get pods,svc; NetworkPolicy, security group); else write the address of the one that runs into the setting that has ${address ?? 'its address'}`,
      why: UNREACHABLE[connectionFailureIn(sentence)],
      commands: [
        isHttp
          ? `curl -v ${peer.scheme}://${address}    # from the pod of the program`
          : `kubectl exec POD -- sh -c "nc -zv ${peer?.host ?? 'HOST'} ${peer?.port ?? 'PORT'}"    # from the pod of the program`,
      ],
    };
  },
  permission: (sentence) => {
    const path = /(?:denied|file system)[^'"/]{0,20}['"]?(\/[^'"\s]{1,200})/i.exec(sentence)?.[1];
    const what = path ?? 'the path in the sentence';
    return {
      says: `Let the user of the container write ${what}: securityContext.fsGroup (or runAsUser) of the pod for a volume, chown for a folder of the host; or give the program a folder that is its own`,
      why: 'A volume belongs to root unless the pod says otherwise, and images run as another user (OpenShift as any). A volume may be mounted read-only, too.',
      commands: [
        `kubectl exec POD -- sh -c "id; ls -ld ${path ?? 'PATH'}"    # who it is, and whose the path is`,
      ],
    };
  },
  threads: () => ({
    says: 'Raise the number of processes and threads that the pod may have (podPidsLimit of the kubelet, --pids-limit of docker, ulimit -u), or start fewer: OMP_NUM_THREADS=8, RAYON_NUM_THREADS=8',
    why: 'Numerical libraries start a thread for each core of the node, whatever the pod may use, in each process of the engine.',
    commands: [
      'kubectl exec POD -- sh -c "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids.current; ulimit -u"',
    ],
  }),
  no_ipv6: () => ({
    says: 'Switch IPv6 on for the host and the pod (sysctl net.ipv6.conf.all.disable_ipv6=0, no ipv6.disable=1 for the kernel), or give the program an IPv4 address (--host 0.0.0.0 in place of ::).',
    why: 'The program opens a socket of IPv6, and the kernel has none.',
    commands: ['kubectl exec POD -- cat /proc/net/if_inet6    # no such file, or empty: there is no IPv6'],
  }),
  bad_file: (sentence) => {
    const [, file, line] = /in "([^"]{1,200})",? line (\d{1,6})/.exec(sentence) ?? [];
    return {
      says:
        file === undefined
          ? 'Correct the file that the program reads at its start: the lines below the error name it, the line and the column'
          : `Correct line ${line} of ${file}: indentation with blanks, a blank behind each colon, quotes around values with ": " or "{"`,
      why: 'The file is no YAML (or TOML) from that place on. What a template or a heredoc writes into it counts, too.',
      commands: [`yq . ${file ?? 'FILE'}    # no error: it can be read`],
    };
  },
  no_file: (sentence) => {
    const path = /directory: '([^']{1,200})'/.exec(sentence)?.[1] ?? 'the file in the sentence';
    return {
      says: `Give the container ${path} (a ConfigMap, a Secret or a volume that is mounted there), or correct the path in the setting that names it`,
      why: 'The program reads the file as it starts. A path of the host is none of the container, and a relative one counts from its working directory.',
      commands: [`kubectl exec POD -- ls -l ${path.replace(/[^/]*$/, '')}    # what is there`],
    };
  },
};

/** What a program asks, by host and port; an address without a port is a server of the network outside. */
function placedPeerIn(sentence: string): PeerAddress | undefined {
  const peer = peerAddressIn(sentence);
  return peer?.port === '' ? undefined : peer;
}

/** The name that does not resolve. */
function nameIn(sentence: string): string | undefined {
  const [, name] =
    /(?:resolve|lookup|connecting to|host=|getaddrinfo ENOTFOUND) ?['"]?([a-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8})['":, ]/i.exec(
      `${sentence} `,
    ) ?? [];
  return name === undefined || /^address$/i.test(name) ? undefined : name;
}
