import type { KnownFault } from '../known-fault.js';

const PULLED = ['Successfully pulled image', 'Started container'];

/** Why a node does not get the image of a container: events of kubelets, states of pods, answers of registries. */
export const POD_IMAGES: readonly KnownFault[] = [
  {
    id: 'kubernetes_image_unpulled',
    cause: 'program_ended',
    needles: ['Failed to pull image '],
    // What another try does not correct: time-outs pass.
    pattern:
      /Failed to pull image \\{0,3}"([^"\\\s]{1,300})\\{0,3}": (?!.{0,600}(?:denied|[Uu]nauthorized|authoriz|403 Forbidden))(.{0,200}(?:not found|NotFound|manifest unknown|invalid reference).{0,100})/,
    healedBy: PULLED,
    says: 'a pod does not start: the registry has no image $1',
    why: 'The registry says: $2.',
    cure: 'Correct the name and the tag of $1 in the pod (image.repository and image.tag in the values of a chart) to one that the registry has',
    commands: ['docker manifest inspect $1'],
    disturbs: 'nothing',
  },
  {
    id: 'kubernetes_image_denied',
    cause: 'program_ended',
    needles: ['Failed to pull image '],
    pattern:
      /Failed to pull image \\{0,3}"([^"\\\s]{1,300})\\{0,3}": .{0,600}?(denied|[Uu]nauthorized|failed to authorize|403 Forbidden)/,
    healedBy: PULLED,
    says: 'a pod does not start: the registry does not give it the image $1 ($2)',
    why: 'The registry wants a login that may read this image. Many answer the same for a repository that does not exist.',
    cure: 'See that the name $1 is right; then make a Secret with a login of that registry and name it in imagePullSecrets of the pod or of its service account',
    commands: [
      'kubectl create secret docker-registry pull-secret --docker-server=REGISTRY --docker-username=USER --docker-password=TOKEN -n NAMESPACE',
    ],
    disturbs: 'nothing',
  },
  {
    id: 'kubernetes_image_rate_limited',
    cause: 'program_ended',
    needles: ['reached your unauthenticated pull rate limit', 'You have reached your pull rate limit'],
    healedBy: PULLED,
    follows: ['kubernetes_image_denied'],
    says: 'a pod does not start: Docker Hub gives its node no more images for now (429)',
    why: 'Docker Hub counts pulls by address where nobody logs in, and all nodes behind one address share the limit of some hours.',
    cure: 'Give the pods imagePullSecrets with an account of Docker Hub, or take the image from a registry of your own that mirrors it',
    disturbs: 'nothing',
  },
  {
    id: 'kubernetes_image_disk_full',
    cause: 'program_ended',
    needles: ['Failed to pull image ', 'failed to pull and unpack image'],
    pattern: /(?:pull image|unpack image) \\{0,3}"([^"\\\s]{1,300})\\{0,3}":.{0,800}no space left on device/,
    healedBy: PULLED,
    says: 'a pod does not start: the disk of its node has no room for the image $1',
    why: 'Images of engines have 10 to 30 GB, and need as much again while they are unpacked.',
    cure: 'Give the node a larger root disk (100 GB and more) or move the root of containerd to a large one, and remove unused images there: crictl rmi --prune',
    commands: ['df -h /var/lib/containerd; crictl images    # on the node'],
    disturbs: 'nothing',
  },
  {
    id: 'image_of_another_machine',
    cause: 'program_ended',
    needles: [': exec format error', 'no match for platform in manifest'],
    pattern:
      /(?:exec (?:\\{0,3}")?(\/[^"\\\s:]{1,150})(?:\\{0,3}")?: exec format error|no match for platform in manifest)/,
    says: 'a container does not start: its image is for another kind of CPU than its node has',
    why: 'An image for amd64 does not run on arm64 (GH200, GB200, DGX Spark, Macs) and the other way round.',
    cure: 'Name an image that has the platform of the node (docker manifest inspect IMAGE; build with docker buildx build --platform linux/arm64), or send the pod to a node with nodeSelector kubernetes.io/arch',
    commands: ['kubectl get nodes -L kubernetes.io/arch'],
  },
  {
    id: 'pod_image_unpulled',
    cause: 'program_ended',
    needles: [
      'ImagePullBackOff',
      'ErrImagePull',
      'InvalidImageName',
      'ErrImageNeverPull',
      'Back-off pulling image ',
    ],
    // States of pods as kubectl lists them, and events.
    pattern:
      /(?:^|\s)(?:[\w.-]{1,253}\s{1,80}\d{1,3}\/\d{1,3}\s{1,20}(?:Init:)?(?:ImagePullBackOff|ErrImagePull|InvalidImageName|ErrImageNeverPull)\b|Back-off pulling image \\{0,3}"[^"\\\s]{1,300}|Reason:\s{1,12}(?:ImagePullBackOff|ErrImagePull|InvalidImageName|ErrImageNeverPull)|Error: (?:ImagePullBackOff|ErrImagePull))/,
    healedBy: PULLED,
    follows: [
      'kubernetes_image_unpulled',
      'kubernetes_image_denied',
      'kubernetes_image_rate_limited',
      'kubernetes_image_disk_full',
      'image_of_another_machine',
    ],
    says: 'a pod does not start: its node does not get the image of a container',
    why: 'Its name or tag is not in the registry, or the registry wants a login. The event Failed of the pod has the answer of the registry.',
    cure: 'Read that answer (kubectl describe pod: "Failed to pull image"), and correct image and tag of the pod (image.repository, image.tag in the values of a chart), or give it imagePullSecrets where the answer is denied or unauthorized',
    commands: ['kubectl describe pod POD | grep -A2 "Failed to pull"'],
    disturbs: 'nothing',
  },
];
