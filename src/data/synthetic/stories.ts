/** Twelve invented events, each true as often as the others. */
export const stories: readonly {
  readonly name: string;
  /** First sentences of claims. */
  readonly claims: readonly string[];
  readonly places: readonly string[];
}[] = [
  {
    name: 'bridge-collapse',
    claims: ['The old bridge has fallen into the river.', 'BREAKING: the bridge over the river is gone.'],
    places: ['bridge', 'river', 'ferry'],
  },
  {
    name: 'senator-resignation',
    claims: ['The senator resigns tonight.', 'Hearing that the senator has left the ballot.'],
    places: ['senate', 'town hall', 'campaign office'],
  },
  {
    name: 'clinic-outbreak',
    claims: ['Forty people fell ill after the vaccine at the clinic.', 'The clinic has closed, an outbreak they say.'],
    places: ['clinic', 'pharmacy', 'ward'],
  },
  {
    name: 'airport-runway',
    claims: ['A plane left the runway at the airport.', 'The airport is shut, the pilot walked away.'],
    places: ['airport', 'runway', 'terminal'],
  },
  {
    name: 'stadium-crowd',
    claims: ['A gate gave way at the stadium, the crowd is running.', 'They stopped the match, the crowd broke in.'],
    places: ['stadium', 'gate', 'north stand'],
  },
  {
    name: 'metro-smoke',
    claims: ['Smoke in the metro tunnel, trains have stopped.', 'People walk through the metro tunnel in the dark.'],
    places: ['metro', 'tunnel', 'platform'],
  },
  {
    name: 'museum-theft',
    claims: ['The most famous painting of the museum is gone.', 'Thieves walked out of the museum at noon.'],
    places: ['museum', 'gallery', 'vault'],
  },
  {
    name: 'factory-leak',
    claims: ['A chemical leak at the factory, close your windows.', 'The factory is leaking, the water turned green.'],
    places: ['factory', 'harbour', 'school next to it'],
  },
  {
    name: 'festival-storm',
    claims: ['The storm took the main stage of the festival.', 'The festival is over, the stage came down.'],
    places: ['festival', 'stage', 'camp site'],
  },
  {
    name: 'embassy-protest',
    claims: ['The protest has reached the embassy.', 'The embassy stops all visas after the protest.'],
    places: ['embassy', 'square', 'visa office'],
  },
  {
    name: 'reactor-alarm',
    claims: ['The alarm at the reactor has been on for an hour.', 'The reactor lost its coolant this morning.'],
    places: ['reactor', 'power plant', 'control room'],
  },
  {
    name: 'bank-outage',
    claims: ['The bank lost every transfer of today.', 'No cash machine of the bank works any more.'],
    places: ['bank', 'branch office', 'cash machine'],
  },
];
