import { Command, Option } from '@commander-js/extra-typings';
import type { Audit } from '../../checkpoints/policy/audit.ts';
import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import { counted } from '../../src/counted.ts';
import { GuaranteeViolated, InputError } from '../../src/errors.ts';
import type { Monitored, Watch, Watched } from '../stop-agent/monitor.ts';
import type { OpenedPolicy } from '../stop-agent/policy/policy-folder.ts';
import { amount, properShare } from './option-values.ts';
import { printJson, type Terminal } from './terminal.ts';

export function monitorCommand(terminal: Terminal) {
  return new Command('monitor')
    .description('Check from audits whether the guarantee of a policy holds. No labels are needed.')
    .argument('<policy>', 'a policy with a guarantee, or an experiment or a run that has one')
    .argument('<audits...>', 'files that `decide` or `serve` wrote with --audit')
    .option(
      '--alarm-level <share>',
      'probability of ever raising an alarm while the guarantee holds',
      properShare,
      0.05,
    )
    .option(
      '--quiet <hours>',
      'a thread that opened so long ago and has not ended is left out as missing',
      amount,
      24 * 7,
    )
    .addOption(
      new Option(
        '--adapt',
        'move the threshold by the new audits, so that in the long run, on average, no more predictions change (or alerts are withdrawn) than allowed; from then on no confidence is claimed',
      ).conflicts('recalibrate'),
    )
    .option('--recalibrate', 'calibrate again on the audits since the alarm, or on all of them where there was none')
    .option('--json', 'print what was found as JSON')
    .addHelpText(
      'after',
      `
The test and the interval are valid at any time (betting, confidence sequence: arXiv:2010.09686): look after every audit if you like.
Audits count in the order in which their threads opened, up to the first thread that is still open. Exit code 4 is an alarm, and 0
means that the audits do not contradict the guarantee, or that --adapt or --recalibrate has answered the alarm. Servers take another
threshold up within seconds.

Examples:
  earshot decide threads.jsonl --policy policy --audit 10% > decisions.jsonl
  earshot monitor policy audits.jsonl
  earshot monitor policy server-1.jsonl server-2.jsonl --json
  earshot monitor policy audits.jsonl --adapt   # from cron, once an hour`,
    )
    .action(async (folder, files, options) => {
      const { alarmLevel, quiet, json = false } = options;
      const { openPolicy } = await import('../stop-agent/policy/policy-folder.ts');
      const { readAudits } = await import('../stop-agent/audit-file.ts');
      const { monitored, violation, watchedPolicy } = await import('../stop-agent/monitor.ts');
      const { stdout, stderr } = terminal;
      const policy = await openPolicy(folder);
      const { guarantee = null } = policy.manifest;
      if (guarantee === null)
        throw new InputError(`${folder} has no guarantee to monitor; \`earshot calibrate ${folder}\` gives it one`);
      const watched = watchedPolicy(policy, { quietMs: quiet * 3_600_000, now: new Date() });
      if (watched === null)
        throw new InputError(
          `the guarantee of ${folder} is about ${guarantee.loss}, which takes true labels, and audits have none; monitor one about changed predictions (\`earshot calibrate --loss disagreement\`) or withdrawn alerts (--loss withdrawn)`,
        );
      const audits = await readAudits(files);
      const monitoring = monitored(audits, { ...watched, alarmLevel });
      if (json) printJson(terminal, { policy: folder, level: guarantee.level, alarmLevel, ...monitoring });
      else stdout.write(await monitorText(monitoring, { guarantee, alarmLevel }));
      const changed = await answered(audits, { ...options, watched, alarm: monitoring.alarm, policy });
      if (changed !== null)
        return void stderr.write(`\nNow: ${changed}.\nIt is in ${policy.folder}; decide, serve and export use it.\n`);
      const violated = violation(monitoring, guarantee);
      if (violated !== null)
        throw new GuaranteeViolated(
          `the guarantee of ${folder} is violated: ${violated.losses} of the first ${violated.items} audited ${auditedWords(guarantee)}; calibrate again on threads of now, or on these audits (--recalibrate)`,
        );
    });
}

/** Calibrates again on the audits and describes the guarantee; null if that was not requested or no audit is new. */
async function answered(
  audits: readonly Audit[],
  options: {
    adapt?: boolean;
    recalibrate?: boolean;
    watched: Watched & { guarantee: Guarantee };
    alarm: Watch | null;
    policy: OpenedPolicy;
  },
): Promise<string | null> {
  const { adapt = false, recalibrate = false, watched, alarm, policy } = options;
  if (!adapt && !recalibrate) return null;
  const { adapted, recalibrated } = await import('../stop-agent/adapt.ts');
  const { countedAudits } = await import('../stop-agent/monitor.ts');
  const { guaranteeInWords } = await import('../../checkpoints/policy/guarantee.ts');
  const { guaranteeInBundle } = await import('../../checkpoints/policy/write-bundle.ts');
  const { guarantee, now, alerts } = watched;
  const { ended, counted } = countedAudits(audits, watched);
  if (adapt && counted.length === 0) return null;
  const last = alarm === null ? undefined : counted[alarm.items - 1];
  const since = last === undefined ? ended : ended.slice(ended.indexOf(last) + 1);
  const next = adapt
    ? adapted(guarantee, ended, { now, alerts })
    : recalibrated(guarantee, since, { limits: policy.definition.limits, alerts });
  await guaranteeInBundle(policy.folder, next);
  return guaranteeInWords(next);
}

/** The audited threads and the fate of those that lose. */
function auditedWords({ loss }: Pick<Guarantee, 'loss'>): string {
  return loss === 'withdrawn' ? 'early alerts would be withdrawn' : 'predictions changed';
}

async function monitorText(
  { now, alarm, unlike, waiting, missing, others, withoutAlert, calibration }: Monitored,
  { guarantee, alarmLevel }: { guarantee: Guarantee; alarmLevel: number },
): Promise<string> {
  const { guaranteeInWords } = await import('../../checkpoints/policy/guarantee.ts');
  const notCounted = [
    ...(waiting > 0 ? [`${waiting} wait for a thread that is still open`] : []),
    ...(missing > 0 ? [`${missing} are missing: their threads never ended, or could not be judged`] : []),
    ...(others > 0 ? [`${others} are of another policy, or were counted for an earlier guarantee`] : []),
    ...(calibration > 0 ? [`${calibration} are of threads that the guarantee was found on`] : []),
    ...(withoutAlert > 0 ? [`${withoutAlert} raised no alert before their end`] : []),
  ];
  const lines = [
    `${guaranteeInWords(guarantee)}.`,
    now.items === 0
      ? `No ${guarantee.adapted ? 'new ' : ''}audit counts yet.`
      : `${counted(now.items, 'audit')}: ${now.losses} ${auditedWords(guarantee)}, ${percent(now.losses / now.items)} (between ${percent(now.low)} and ${percent(now.high)} with ${percent(1 - alarmLevel)} confidence, at any time).`,
    ...(notCounted.length > 0 ? [`Not counted: ${notCounted.join('; ')}.`] : []),
    guarantee.adapted
      ? `The threshold follows the audits (--adapt), so there is no alarm. ${counted(guarantee.adapted.audits, 'audit')} moved it so far, and of these ${percent(guarantee.adapted.losses / guarantee.adapted.audits)} of ${auditedWords(guarantee)}.`
      : `The e-value is ${now.eValue.toPrecision(3)}; ${alarm === null ? `it has not reached ${1 / alarmLevel}, so nothing contradicts the guarantee` : `it reached ${1 / alarmLevel} after ${counted(alarm.items, 'audit')}`}.`,
    ...(unlike.isAlarm
      ? [
          `${unlike.now.losses} of ${unlike.now.items} audited claims are out of distribution, and of threads like the calibration set 5% would be. Calibrate on threads of now.`,
        ]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(1))}%`;
}
