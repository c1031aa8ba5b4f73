// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// laws returns, for packages whose comments have laws, the tests that state each law. A law is named by words of its
// sentence in a doc comment. Each item of a list below the heading Guarantees, or in doc.go, has an entry; other
// sentences may have one.
func laws() map[string]map[string][]string {
	return map[string]map[string][]string{
		"runtime/applier": {
			"uses no memory":                                                    {"TestUnusedKeysFreeTheirMemory"},
			"does not wait for a pending retry":                                 {"TestABurstOfEventsDoesNotIncreaseTheBackOff"},
			"until [Applier.Seen] reports the version of the write":             {"TestKeyIsHeldUntilAllItsWritesAreObserved"},
			"or [Applier.Gone] the deletion":                                    {"TestKeyIsHeldUntilTheDeletedObjectIsGone"},
			"Runs that have begun continue":                                     {"TestKeyThatIsNotOwnedDoesNotRun"},
			"Get returns its cause, and the applier keeps its keys":             {"TestGetReturnsTheCauseOfItsContext"},
			"drops all keys that are not running":                               {"TestCloseDropsKeysThatAreNotRunning"},
			"lets the workers process the others and waits until they are done": {"TestDrainWaitsForWaitingAndRunningKeys"},
			"releases the held ones":                                            {"TestDrainReleasesHeldKeys"},
			"call Close and then Drain":                                         {"TestDrainAfterCloseWaitsForRunningKeys"},
			"Only one worker has a key at a time":                               {"TestOnlyOneWorkerHasAKeyAtATime"},
			"Adds for a waiting key collapse": {
				"TestAddsForAWaitingKeyCollapse", "TestAddsForARunningKeyCollapseIntoOneMoreRun",
				"TestAddsForAHeldKeyCollapseIntoOneMoreRun",
			},
			"the earliest wins":       {"TestTheEarliestDelayedAddWins"},
			"keeps the delayed add":   {"TestAnAddKeepsADelayedAdd"},
			"With [Options.Debounce]": {"TestDebouncedKeyIsReadyAfterItsQuietTime"},
			"A run also covers the retry": {
				"TestFailureOfALongRunForAnEventIsFollowedByItsBackOff",
				"TestLongRunForAnEventCancelsTheRetryThatWasPendingBefore", "TestSkippedRunKeepsTheRetryThatWasPendingBefore",
			},
			"A run receives the causes": {"TestRunReceivesTheCausesOfItsAdds"},
			"Keys of the same priority": {
				"TestKeysOfOnePriorityAreHandedOutInTheOrderOfTheirAdds",
			},
			"is handed out first": {"TestHigherPrioritiesGoFirst"},
			"no key starves": {
				"TestLowPriorityKeyDoesNotStarve",
				"TestAgedFloodDoesNotDelayEvents",
			},
			"it becomes the last of the waiting keys": {
				"TestKeyWhosePriorityRisesIsTheLastOfItsNewPriority",
			},
			"while a write of its last run is unobserved": {
				"TestKeyIsHeldUntilAllItsWritesAreObserved", "TestKeyIsHeldUntilTheDeletedObjectIsGone",
				"TestHeldKeyIsReleasedAfterItsTimeout",
			},
			"A key that is not owned does not run":   {"TestKeyThatIsNotOwnedDoesNotRun"},
			"At most [Options.Concurrency] keys run": {"TestAtMostConcurrencyKeysRun"},
			"after a delay that doubles":             {"TestTheBackOffDoublesUpToItsLimit"},
			"resets the delay and cancels a pending retry": {
				"TestSuccessResetsTheBackOff",
				"TestSuccessCancelsThePendingRetry",
			},
			"a burst of events does not delay the next retry": {
				"TestABurstOfEventsDoesNotIncreaseTheBackOff",
			},
			"or until [Applier.Forget] removes the source": {"TestForgottenSourceHoldsNoKeys"},
			"Other keys are not delayed":                   {"TestHoldOfOneKeyDoesNotDelayOthers"},
			"It starts no goroutines":                      {"TestApplierStartsNoGoroutines"},
		},
		"runtime/cache": {
			"Health] returns errors from which the watch recovers": {"TestErrorsAreLoggedAndReturnedByHealthUntilRecovery"},
			"returns the state of all watches":                     {"TestWatchesShowTheStateOfEachWatch"},
			"share one watch and its objects": {
				"TestEqualSelectionsShareAWatch",
				"TestViewsOfAllTypesShareOneWatch",
			},
			"ends with the last": {
				"TestWatchBeginsWithTheFirstRunAndEndsWithTheLast",
			},
			"The objects are kept for another minute": {"TestObjectsAreDiscardedAMinuteAfterTheLastRun"},
			"a Run in that time only updates them":    {"TestNextRunUpdatesTheStore"},
			"the server sends only metadata":          {"TestMetadataViewRequestsAndHoldsOnlyMetadata"},
			"the cache uses protobuf": {
				"TestProtobufIsUsedIfAllTypesCanBeDecodedFromIt",
			},
			"holds only the fields that one of the types": {"TestLeanViewHoldsOnlyTheFieldsOfItsType"},
			"meanwhile the new view is not ready": {
				"TestViewThatNeedsMoreIsReadyWhenTheObjectsHaveItsForm",
			},
			"and the others continue to work": {
				"TestViewThatNeedsMoreReplacesTheWatchWithoutChangesForOthers",
			},
			"has observed the response to a write":      {"TestWaitFor"},
			"returns its own error only if the view is": {"TestInvalidViewsFailImmediately"},
		},
		"runtime/controller": {
			"Changes during a run start exactly one more run":                       {"TestRunsOfOneObjectDoNotOverlap", "TestNoChangeIsLostWhileClustersComeAndGoAndFunctionsPanic"},
			"until the cache has observed them":                                     {"TestObjectIsHeldBackUntilEachWriteIsObserved", "TestNoForeignChangeIsLostAndNoPageIsWrittenTwice"},
			"starts runs for events from outside":                                   {"TestKeysOfASequenceAreReconciled"},
			"runs all objects again":                                                {"TestReconcileAllRunsEachObjectOnceAfterChanges"},
			"the first events since the last run, and the number of the others":     {"TestRunKnowsTheEventsThatCausedIt", "TestCausesAreCollectedUpToABound"},
			"name the first event, and have the number of the others":               {"TestLogRecordsOfARunNameItsFirstCauseAndTheNumberOfTheOthers"},
			"returns the current numbers and durations of runs":                     {"TestMetricsCountRuns"},
			"A changed object concerns objects of its own cluster":                  {"TestRefsAndOwnersAreInTheClusterOfTheChangedObject"},
			"a run receives the object of the cluster in its key":                   {"TestObjectIsReadFromTheClusterOfItsKey"},
			"adds a cluster until its context ends":                                 {"TestEngagedClusterIsReconciledUntilItLeaves"},
			"while Run is active, it runs all sources on the cache of that cluster": {"TestEngagedClusterIsReconciledInEachRun"},
			"runs that have begun continue when their cluster leaves":               {"TestKeysOfAClusterThatLeavesAreDroppedAndItsRunsFinish"},
			"An object that can't be decoded is a failed run, too":                  {"TestObjectThatCannotBeDecodedIsReportedOnce"},
			"or immediately if a source is invalid":                                 {"TestInvalidSourceEndsRunImmediately"},
			"It logs the stack of each of these runs":                               {"TestStopGivesUpOnRunsThatIgnoreTheirContext"},
			"Only one Run may be active at a time":                                  {"TestConcurrentRunIsAnError"},
			"up to [Options.Concurrency]":                                           {"TestConcurrencyIsBounded"},
			"receives a copy of the newest state":                                   {"TestReconcileReceivesACopyOfTheNewestState"},
			"Two runs of one object never overlap":                                  {"TestRunsOfOneObjectDoNotOverlap"},
			"Every object is reconciled once": {
				"TestEveryObjectIsReconciledOnceThenWithEachChange",
			},
			"with a lower priority than changes": {
				"TestInitialListHasLowerPriorityThanLiveChanges",
			},
			"only suppress modifications": {"TestPredicatesSelectModifications"},
			"A run sees the writes and deletes": {
				"TestNextRunSeesTheWritesOfTheLastRun",
				"TestNextRunSeesTheDeletesOfTheLastRun",
			},
			"for at most [Options.HoldTimeout]": {
				"TestSlowCacheHoldsAnObjectBackUpToHoldTimeout",
			},
			"are not waited for": {
				"TestObjectIsNotHeldBackForDeletionsThatCannotBeObserved",
			},
			"If an object that a run has written disappears": {
				"TestObjectThatDisappearsWithoutAChangeIsCreatedAgain",
			},
			"A change by a run of the object itself": {
				"TestOwnWriteCausesNoRun",
				"TestOwnWritesOfOthersCauseRuns",
			},
			"grows from 5 ms to 1000 s": {
				"TestFailedRunIsRetriedWithDelaysFrom5msTo1000s",
			},
			"A [core.Terminal] error is not retried": {"TestATerminalErrorWaitsForAChange"},
			"without a delay waits in the same way":  {"TestARequeueWithoutADelayDoesNotSpin"},
			"A panic of the reconcile":               {"TestPanicFailsOnlyItsRun"},
			"A panic of [Options.OnResult]": {
				"TestPanicOfOnResultIsLoggedAndDoesNotAffectTheRun",
			},
			"whose mapping fails": {"TestFailedMapIsLoggedAndRetriedWithBackoff"},
			"A slow function delays neither": {
				"TestSlowMapDelaysNeitherOtherSourcesNorLiveChanges",
			},
			"No run begins before every source": {
				"TestLateSourceDelaysRunsUpToItsTimeoutAndIsUsedOnceReady",
			},
			"and one cluster does not block another": {"TestLateClusterDoesNotDelayAnother"},
			"Deleted objects are not reconciled": {
				"TestDeletedObjectIsNotReconciledAndItsFailuresAreForgotten",
			},
			"never during a run of the object": {
				"TestOnGoneIsCalledOnceForEachDeletionAndNeverDuringARun",
			},
			"it is the object of the first view":         {"TestObjectIsThatOfTheFirstViewThatHasIt"},
			"When the context of Run ends, no more runs": {"TestStopStartsNoRunsAndWaitsForCurrentRuns"},
			"[Options.StopTimeout] to finish":            {"TestContextOfARunEndsAfterStopTimeout"},
			"names the objects of the runs that ignore it": {
				"TestStopGivesUpOnRunsThatIgnoreTheirContext",
			},
			"[Options.RunTimeout] limits each run": {
				"TestContextOfARunEndsAfterRunTimeout",
				"TestContextOfMapEndsAfterRunTimeout",
			},
		},
		"runtime/reflector": {
			"text that many of them have is kept once":                         {"TestDictionaryHalvesObjectsThatAreAlike", "TestCompressedObjectsAreReadAsTheyWereSent"},
			"Objects of which it has little text are kept unchanged":           {"TestDictionaryKeepsWhatItDoesNotHave"},
			"So are objects that have changed, until they add up to 256 KiB":   {"TestChangedObjectsAreCompressedManyAtATime"},
			"selects by namespace, labels and owner":                           {"TestAllSelects"},
			"then lists one object, and nothing of the file is visible before": {"TestNoReaderSeesASnapshotBeforeItIsAsNewAsAList", "TestSnapshotIsConfirmedByALaterChange"},
			"are safe for concurrent use":                                      {"TestConcurrentUse"},
			"callers own the objects":                                          {"TestGetReturnsAFreshObjectOfItsKind"},
			"This halves the memory of pods":                                   {"TestDictionaryHalvesObjectsThatAreAlike"},
			"An index always has the same objects":                             {"TestIndexesAlwaysHaveTheObjectsOfTheStore"},
			"Unchanged objects keep their entries":                             {"TestRelistKeepsUnchangedEntries"},
			"The same version with other content":                              {"TestSameVersionWithOtherContentIsAChange"},
			"subscribers receive each deletion":                                {"TestRelistDeliversMissedChanges"},
			"Until then, readers see the old objects":                          {"TestInterruptedListRemovesNoObjects"},
			"no object is older than in a list":                                {"TestNoReaderSeesASnapshotBeforeItIsAsNewAsAList"},
			"resumes its watch instead of listing":                             {"TestRestartResumesFromItsSnapshot"},
			"The objects are listed if":                                        {"TestSnapshotThatCannotBeUsedIsReplaced"},
			"a missing object is [ErrNotReady]":                                {"TestMissingObjectIsNotReadyBeforeTheFirstList"},
			"from which the reflector recovers":                                {"TestHealthReturnsTheLastErrorUntilRecovery"},
			"in the goroutine of its caller":                                   {"TestOnlyTheCallersOfAReflectorHaveGoroutines"},
		},
		"runtime/watcher": {
			"A watch that ends normally, or whose connection breaks after it": {"TestWatchResumesAfterANormalEnd", "TestWatchResumesAfterABrokenConnection"},
			"but not within one second after the watch was opened":            {"TestServerThatEndsEachWatchGetsOnePerSecond"},
			"When the server no longer has that version (410)":                {"TestObjectsAreListedAgainWhenTheVersionHasExpired"},
			"it repeats the request":                                          {"TestFailedWatchResumesFromItsVersion"},
			"After ten consecutive ones":                                      {"TestObjectsAreListedAgainAfterTenFailedWatches", "TestStepWatching"},
			"A watch that ends within a second of its acceptance":             {"TestShortWatchesBackOff", "TestWatchThatEndsImmediatelyAfterAQueueBacksOff"},
			"a watch that the server has not accepted after a minute":         {"TestWatchThatIsNotAcceptedIsCancelled"},
			"ends after four minutes of silence":                              {"TestWatchWithoutTheUsualBookmarksIsOver"},
			"When its continue token has expired":                             {"TestExpiredContinueTokenListsWithoutPages"},
			"After ten consecutive failures, the list starts again":           {"TestBrokenListStartsAgain", "TestStepPaging"},
			"When a streaming list ends early, or is silent":                  {"TestInterruptedStreamingListStartsAgain", "TestServerThatIgnoresStreamingListsIsDetected"},
			"is considered to ignore the request for a streaming list if":     {"TestServerWithoutTheEndOfAStreamingListIsDetected"},
			"A list that is only long is not interrupted":                     {"TestStreamingListOfACorrectServerIsNotInterrupted"},
			"or with a paged list if the server does not support":             {"TestServerThatRejectsStreamingListsIsListedInPages"},
			"for all watchers that share it":                                  {"TestWatchersOfAServerShareWhatTheyLearn"},
			"for one to two hours or until a connection fails":                {"TestStreamingListIsTriedAgainAfterSomeTime", "TestStreamingListIsTriedAgainAfterAnOutage"},
			"skips the first list with":                                       {"TestSequenceResumesFromAStoredVersion"},
			"may be ranged over repeatedly":                                   {"TestSequenceStartsAgainWhenRangedOverAgain"},
			"All lists request the newest state":                              {"TestAllListsRequestTheNewestState"},
			"A list is an Init, its objects": {
				"FuzzStepKeepsItsLaws",
				"TestListOfAnEmptyCollectionHasInitAndInitDone",
			},
			"starts again with another Init":       {"TestInterruptedStreamingListStartsAgain"},
			"Changes follow only a complete state": {"FuzzStepKeepsItsLaws"},
			"A watch starts at the version":        {"TestWatchResumesAfterABrokenConnection"},
			"Each failed request is reported":      {"TestPersistentErrorIsReportedAndRetriedWithBackoff"},
			"at most 90 requests per minute": {
				"FuzzStepKeepsItsLaws",
				"TestServerThatEndsEachWatchGetsOnePerSecond",
			},
			"A page that fails is requested again": {"TestFailedPageIsRequestedAgain"},
			"It doubles with each further failure": {"TestBackoffDoublesUpToItsLimitAndResetsAfterAPause"},
			"requests with Retry-After":            {"TestRetryAfterIsHonoured"},
			"The error is cleared as soon as":      {"TestErrorIsClearedWhenTheWatchIsOpenAgain"},
			"starts no others":                     {"TestSequenceStartsNoGoroutines"},
			"Break closes the connection":          {"TestBreakReleasesTheConnection"},
		},
	}
}

// testFunc matches the declaration of a test or a fuzz test.
var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// checkLaws reports laws without a test, and entries of the list whose law or test does not exist.
func checkLaws(root fs.FS, list map[string]map[string][]string) ([]string, error) {
	var complaints []string
	complain := func(format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf(format+" (tools/arch/laws.go)", args...))
	}
	for _, dir := range slices.Sorted(maps.Keys(list)) {
		text, items, err := commentsOf(root, dir)
		if err != nil {
			return nil, err
		}
		tests, err := testsOf(root, dir)
		if err != nil {
			return nil, err
		}
		for _, words := range slices.Sorted(maps.Keys(list[dir])) {
			if !strings.Contains(text, words) {
				complain("%s has no law with the words %q: change the entry", dir, words)
			}
			for _, name := range list[dir][words] {
				if !tests[name] {
					complain("%s has no %s, which states the law %q: write it, or change the entry", dir, name, words)
				}
			}
		}
		for _, law := range items {
			stated := func(words string) bool { return strings.Contains(law, words) && len(list[dir][words]) > 0 }
			if !slices.ContainsFunc(slices.Collect(maps.Keys(list[dir])), stated) {
				complain("%s has a law without a test: add an entry for %q", dir, law)
			}
		}
	}
	return complaints, nil
}

// testsOf returns the names of the tests in a folder.
func testsOf(root fs.FS, dir string) (map[string]bool, error) {
	files, err := fs.Glob(root, dir+"/*_test.go")
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for _, file := range files {
		content, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, err
		}
		for _, match := range testFunc.FindAllSubmatch(content, -1) {
			names[string(match[1])] = true
		}
	}
	return names, nil
}

// commentsOf returns the text of the comments in a folder with single spaces, and the items of the lists that have
// laws.
func commentsOf(root fs.FS, dir string) (text string, items []string, err error) {
	files, err := fs.Glob(root, dir+"/*.go")
	if err != nil {
		return "", nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := fs.ReadFile(root, file)
		if err != nil {
			return "", nil, err
		}
		more, laws := comment(string(content), path.Base(file) == "doc.go")
		text += more
		items = append(items, laws...)
	}
	return text, items, nil
}

// comment returns the text of the comments of a file with single spaces, and the items of all lists, or of those below
// the heading Guarantees.
func comment(file string, all bool) (text string, items []string) {
	guarantees := false
	for line := range strings.Lines(file) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			guarantees = false
			continue
		}
		words := strings.Join(strings.Fields(line), " ")
		text += words + " "
		if heading, is := strings.CutPrefix(words, "# "); is {
			guarantees = heading == "Guarantees"
		}
		if !all && !guarantees {
			continue
		}
		if item, begins := strings.CutPrefix(words, "- "); begins {
			items = append(items, item)
		} else if strings.HasPrefix(line, "     ") && len(items) > 0 {
			items[len(items)-1] += " " + words
		}
	}
	return text, items
}
