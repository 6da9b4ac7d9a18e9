# SPDX-License-Identifier: MIT
"""reports.py - what `dxgk verify` writes, read by somebody else: python's XML, a consumer of TAP 14, and the parts of the schema
of SARIF 2.1.0 that a report of a driver can have.

Each function raises AssertionError with what is wrong, and returns what was read.
"""

import json
import re
import xml.etree.ElementTree

# ---- JUnit ----


def read_junit(path):
    """{suite: [(name, {property: value}, result)]}; the counts in the attributes agree with what is inside."""
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag == 'testsuites', root.tag
    suites = {}
    total = dict.fromkeys(('tests', 'failures', 'errors', 'skipped'), 0)
    for suite in root:
        assert suite.tag == 'testsuite', suite.tag
        assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d', suite.get('timestamp')), suite.attrib
        assert suite.get('hostname') and float(suite.get('time')) >= 0, suite.attrib
        cases = [read_case(case, suite.get('name')) for case in suite]
        counts = {'tests': len(cases)}
        for plural, kind in (('failures', 'failure'), ('errors', 'error'), ('skipped', 'skipped')):
            counts[plural] = sum(result[0] == kind for _, _, result in cases)
        for name, count in counts.items():
            assert int(suite.get(name)) == count, (suite.attrib, counts)
            total[name] += count
        suites[suite.get('name')] = cases
    for name, count in total.items():
        assert int(root.get(name)) == count, (root.attrib, total)
    return suites


def read_case(case, suite):
    assert case.tag == 'testcase' and case.get('name') and float(case.get('time')) >= 0, case.attrib
    assert case.get('classname') == suite, case.attrib
    properties, result = {}, ('ok', None, None, '')
    for child in case:
        if child.tag == 'properties':
            properties = {item.get('name'): item.get('value') for item in child}
        else:
            assert child.tag in ('failure', 'error', 'skipped'), child.tag
            assert child.get('message') is not None, child.attrib
            result = (child.tag, child.get('type'), child.get('message'), child.text or '')
    return case.get('name'), properties, result


# ---- TAP 14 ----

TEST = re.compile(r'(not )?ok (\d+)(?: - ((?:[^#\\]|\\.)*?))?(?: # (TO' r'DO|SKIP)\b\s*(.*))?$')


def read_tap(text):
    """[(is ok, description, directive, reason, {yaml})]"""
    lines = text.splitlines()
    assert lines[0] == 'TAP version 14', lines[:1]
    tests, planned, index = [], None, 1
    while index < len(lines):
        line = lines[index]
        index += 1
        plan = re.fullmatch(r'1\.\.(\d+)(?: # .*)?', line)
        if line.startswith('Bail out!'):
            return 'bail', line[len('Bail out!'):].strip()
        if plan:
            assert planned is None, 'two plans'
            planned = int(plan.group(1))
        elif line == '  ---':
            end = lines.index('  ...', index)
            tests[-1][4].update(read_yaml(lines[index:end]))
            index = end + 1
        elif not line.startswith('#'):
            test = TEST.fullmatch(line)
            assert test, f'not TAP: {line}'
            assert int(test.group(2)) == len(tests) + 1, line
            tests.append((not test.group(1), re.sub(r'\\(.)', r'\1', test.group(3) or ''), test.group(4),
                          test.group(5), {}))
    assert planned == len(tests), (planned, len(tests))
    return tests


def read_yaml(lines):
    """The small part of YAML that is needed: fields, one level of fields in fields, texts as JSON writes them."""
    values, inner = {}, None
    for line in lines:
        field = re.fullmatch(r'(  +)(\w+):(?: (.*))?', line)
        assert field, f'not YAML: {line}'
        target = values if len(field.group(1)) == 2 else inner
        if field.group(3) is None:
            inner = target[field.group(2)] = {}
        else:
            target[field.group(2)] = json.loads(field.group(3))
    return values


# ---- SARIF 2.1.0 ----

class Shape:
    """An object of the schema: its properties, and which have to be there. Others are not allowed."""

    def __init__(self, required=(), **properties):
        self.required, self.properties = required, properties


def one_of(*values):
    return lambda value: value in values


def is_text(value):
    return isinstance(value, str)


def is_relative_or_absolute(value):
    """A URI reference: no character that has to be escaped."""
    return is_text(value) and re.fullmatch(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*", value) and \
        not re.search(r'%(?![0-9A-Fa-f]{2})', value)


def is_count(least):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_bool(value):
    return isinstance(value, bool)


def is_date(value):
    return is_text(value) and re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', value)


def is_bag(value):
    """A property bag: anything, with tags that are texts and different."""
    tags = value.get('tags', []) if isinstance(value, dict) else [1]
    return all(is_text(tag) for tag in tags) and len(set(tags)) == len(tags) <= 10


LEVEL = one_of('none', 'note', 'warning', 'error')
MESSAGE = Shape(text=is_text, markdown=is_text, id=is_text)
MULTIFORMAT = Shape(('text',), text=is_text, markdown=is_text, properties=is_bag)
ARTIFACT = Shape(uri=is_relative_or_absolute, uriBaseId=is_text, index=is_count(-1))
REGION = Shape(startLine=is_count(1), startColumn=is_count(1), endLine=is_count(1))
PHYSICAL = Shape(artifactLocation=ARTIFACT, region=REGION)
LOGICAL = Shape(name=is_text, fullyQualifiedName=is_text, kind=is_text, index=is_count(-1))
LOCATION = Shape(id=is_count(-1), physicalLocation=PHYSICAL, logicalLocations=[LOGICAL], message=MESSAGE)
FRAME = Shape(location=LOCATION, module=is_text, threadId=is_count(0))
RULE = Shape(('id',), id=is_text, name=is_text, shortDescription=MULTIFORMAT, fullDescription=MULTIFORMAT,
             help=MULTIFORMAT, helpUri=is_relative_or_absolute, defaultConfiguration=Shape(level=LEVEL),
             properties=is_bag)
RESULT = Shape(('message',), ruleId=is_text, ruleIndex=is_count(-1), level=LEVEL, message=MESSAGE,
               locations=[LOCATION], partialFingerprints={'': is_text}, occurrenceCount=is_count(1),
               codeFlows=[Shape(('threadFlows',), message=MESSAGE,
                                threadFlows=[Shape(('locations',), locations=[Shape(location=LOCATION)])])],
               stacks=[Shape(('frames',), message=MESSAGE, frames=[FRAME])],
               suppressions=[Shape(('kind',), kind=one_of('inSource', 'external'), justification=is_text,
                                   status=one_of('accepted', 'underReview', 'rejected'))],
               properties=is_bag)
NOTIFICATION = Shape(('message',), message=MESSAGE, level=LEVEL, descriptor=Shape(id=is_text))
RUN = Shape(('tool',),
            tool=Shape(('driver',), driver=Shape(('name',), name=is_text, version=is_text, semanticVersion=is_text,
                                                 informationUri=is_relative_or_absolute, rules=[RULE])),
            invocations=[Shape(('executionSuccessful',), executionSuccessful=is_bool, exitCode=is_count(0),
                               commandLine=is_text, startTimeUtc=is_date,
                               toolExecutionNotifications=[NOTIFICATION])],
            originalUriBaseIds={'': Shape(uri=is_relative_or_absolute)},
            automationDetails=Shape(id=is_text, guid=is_text), columnKind=one_of('utf16CodeUnits', 'unicodeCodePoints'),
            results=[RESULT])
LOG = Shape(('version', 'runs'), version=one_of('2.1.0'), runs=[RUN], **{'$schema': is_relative_or_absolute})


def check_shape(value, shape, where='log'):
    if isinstance(shape, Shape):
        assert isinstance(value, dict), f'{where} is no object'
        for name in shape.required:
            assert name in value, f'{where} has no {name}'
        for name, inner in value.items():
            assert name in shape.properties, f'{where} has {name}, which the schema does not know'
            check_shape(inner, shape.properties[name], f'{where}.{name}')
    elif isinstance(shape, list):
        assert isinstance(value, list), f'{where} is no array'
        for index, inner in enumerate(value):
            check_shape(inner, shape[0], f'{where}[{index}]')
    elif isinstance(shape, dict):
        assert isinstance(value, dict), f'{where} is no object'
        for name, inner in value.items():
            check_shape(inner, shape[''], f'{where}.{name}')
    else:
        assert shape(value), f'{where} is {value!r}'


def read_sarif(path):
    """The run, after what the schema says of it, what code scanning allows, and that it refers to what there is."""
    with open(path, encoding='utf-8') as file:
        log = json.load(file)
    check_shape(log, LOG)
    assert len(log['runs']) == 1, 'one run for one campaign'
    run = log['runs'][0]
    rules = [rule['id'] for rule in run['tool']['driver']['rules']]
    assert len(set(rules)) == len(rules), 'a rule is there twice'
    assert len(run['results']) <= 5000
    fingerprints = set()
    for result in run['results']:
        assert rules[result['ruleIndex']] == result['ruleId'], result['ruleId']
        assert 'physicalLocation' in result['locations'][0], 'code scanning shows nothing without a place'
        assert len(result['locations']) <= 100
        for flow in result['codeFlows'][0]['threadFlows']:
            assert 1 <= len(flow['locations']) <= 1000
        key = (result['ruleId'], result['partialFingerprints']['dxgkRuleFrame/v1'])
        assert key not in fingerprints, f'{key} is there twice'
        fingerprints.add(key)
        for location in result['locations']:
            base = location['physicalLocation']['artifactLocation'].get('uriBaseId')
            assert base is None or base in run['originalUriBaseIds'], base
    return run


# ---- results.jsonl ----

def read_results(path):
    """(campaign, [run], {(rule, fingerprint): finding}, [end])"""
    campaign, runs, findings, ends = None, [], {}, []
    with open(path, encoding='utf-8') as file:
        for line in file:
            value = json.loads(line)
            if value['type'] == 'campaign':
                campaign = value
            elif value['type'] == 'run':
                runs.append(value)
            elif value['type'] == 'finding':
                finding = value['finding']
                findings[finding['rule'], finding['fingerprint']] = finding
            else:
                assert value['type'] == 'end', value
                ends.append(value)
    return campaign, runs, findings, ends
